package wq_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// goRun builds a program in the module of this directory and runs it.
func goRun(t *testing.T, dir, input string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"run"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	cmd.Stdin = strings.NewReader(input)
	var errors strings.Builder
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go run %v: %v\n%s", args, err, &errors)
	}
	return string(out)
}

// The example of the README compiles in a module of its own, as a user has it, and does what it says.
func TestReadmeExample(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	ok(t, err)
	_, rest, _ := strings.Cut(string(readme), "```go\n")
	program, _, found := strings.Cut(rest, "```")
	equal(t, found, true)
	here, err := os.Getwd()
	ok(t, err)
	dir := t.TempDir()
	ok(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o600))
	ok(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example\n\ngo 1.23\n\nrequire wq.internal/wq v0.0.0\n\nreplace wq.internal/wq => "+here+"\n"), 0o600))
	equal(t, goRun(t, dir, "", "."), "hello\n")
}

func TestExamples(t *testing.T) {
	store := filepath.Join(t.TempDir(), "store")
	equal(t, goRun(t, ".", "one\ntwo\n\nthree\n", "./examples/producer", store), "enqueued 4\n")
	lines := strings.Fields(goRun(t, ".", "", "./examples/worker", "-until-empty", store))
	equal(t, len(lines), 3)
	s := openAt(t, store, nil)
	q := queue(t, s, "lines", nil)
	equal(t, dead(t, q)[0].LastError, "an empty line")
}

// The benchmark runs and its counts are right; it is not measured here.
func TestBench(t *testing.T) {
	for _, batch := range []string{"1", "10"} {
		out := goRun(t, ".", "", "./bench", "memory", batch, "500", filepath.Join(t.TempDir(), "store"))
		equal(t, strings.Contains(out, `"delivered":500,"acked":500`), true)
	}
}
