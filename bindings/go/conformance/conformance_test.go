package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every script of the repository prints what its .out file says.
func TestConformance(t *testing.T) {
	dir := os.Getenv("WQ_CONFORMANCE_DIR")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "tests", "conformance")
	}
	if _, err := os.Stat(dir); os.IsNotExist(err) {
		t.Skipf("skipped: %s is not there", dir)
	}
	scripts, err := filepath.Glob(filepath.Join(dir, "*.ops"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts in %s", dir)
	}
	for _, script := range scripts {
		name := strings.TrimSuffix(filepath.Base(script), ".ops")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(script)
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(strings.TrimSuffix(script, ".ops") + ".out")
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := run(t.TempDir(), string(text), &got); err != nil {
				t.Errorf("%s: %v", script, err)
			}
			compare(t, got.String(), string(want))
		})
	}
}

func compare(t *testing.T, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		a, b := "(nothing)", "(nothing)"
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			t.Errorf("line %d of the output:\n  got  %s\n  want %s", i+1, a, b)
			return
		}
	}
}
