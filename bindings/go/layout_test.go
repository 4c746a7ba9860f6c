package wq

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// Each struct that crosses lies in memory as bindings/api says. Fields are only ever appended, so one
// that only one side knows yet is no difference.
func TestLayout(t *testing.T) {
	path := filepath.Join("..", "api", "api.json")
	if given := os.Getenv("WQ_API_JSON"); given != "" {
		path = given
	}
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		t.Skipf("skipped: %s is not there", path)
	}
	if err != nil {
		t.Fatal(err)
	}
	var api struct {
		Structs []struct {
			Name   string
			Fields []struct {
				Name         string
				Offset, Size uintptr
			}
		}
	}
	if err := json.Unmarshal(text, &api); err != nil {
		t.Fatal(err)
	}
	types, seen := layouts(), 0
	for _, s := range api.Structs {
		compiled, crosses := types[s.Name]
		if !crosses {
			continue
		}
		seen++
		for _, f := range s.Fields {
			name := f.Name
			if name == "type" { // a word of Go has another name in cgo
				name = "_type"
			}
			field, known := compiled.FieldByName(name)
			if known && (field.Offset != f.Offset || field.Type.Size() != f.Size) {
				t.Errorf("%s.%s: offset %d, %d bytes; want %d, %d", s.Name, f.Name, field.Offset, field.Type.Size(), f.Offset, f.Size)
			}
		}
	}
	if seen != len(types) {
		t.Errorf("%d of %d structs are described", seen, len(types))
	}
}
