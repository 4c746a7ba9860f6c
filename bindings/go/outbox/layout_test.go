package outbox

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The scripts are those of the relay in C++, letter by letter: by them both know the same ids.
func TestScriptsAreThoseOfTheRelay(t *testing.T) {
	path := filepath.Join("..", "..", "..", "src", "relay", "layout.cc")
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		t.Skipf("skipped: %s is not there", path)
	}
	if err != nil {
		t.Fatal(err)
	}
	literal := func(pattern string) string {
		found := regexp.MustCompile("(?s)" + pattern).FindStringSubmatch(string(data))
		if found == nil {
			t.Fatalf("no %s in %s", pattern, path)
		}
		var text strings.Builder
		for _, quoted := range regexp.MustCompile(`"(?:[^"\\]|\\.)*"`).FindAllString(found[1], -1) {
			part, err := strconv.Unquote(quoted)
			if err != nil {
				t.Fatal(err)
			}
			text.WriteString(part)
		}
		return text.String()
	}
	begin, end := literal(`#define WQ_RELAY_BEGIN(.*?)\n#define`), literal(`#define WQ_RELAY_END(.*?)\n\n`)
	for name, script := range map[string]string{"list": listScript, "stream": streamScript, "prismgo": prismGoScript, "waitqueue": waitQueueScript} {
		if want := begin + literal(name+`_script =(.*?);\n\n`) + end; script != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, script, want)
		}
	}
	if want := literal(`known_script =(.*?);\n\n`); knownScript != want {
		t.Errorf("known: got\n%s\nwant\n%s", knownScript, want)
	}
}

func TestParseLayout(t *testing.T) {
	for text, want := range map[string]Layout{"list:jobs": {List, "jobs"}, "stream:{queue}:s": {Stream, "q:s"},
		"prismgo:app": {PrismGo, "app"}, "waitqueue:ns:1": {WaitQueue, "TaskQueue:ns:1:"}} {
		if got, err := ParseLayout(text, "q"); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, bad := range []string{"", "list", "list:", "set:x", "waitqueue:ns", "waitqueue::1", "waitqueue:ns:"} {
		if got, err := ParseLayout(bad, "q"); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}
