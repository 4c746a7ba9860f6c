package wq_test

import (
	"encoding/json"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Does this package reach all of wq.h? What bindings/api/surface.py says of the question holds here. The
// fields that are used are those that the type checker finds in what cgo makes of the sources.

// wanted is all that api.json has: wq_lease, wq_job_spec.tenant, WQ_JOB_ENCRYPT.
func wanted(t *testing.T) map[string]bool {
	type named struct{ Name string }
	var api struct {
		Functions, Constants, Codes []named
		Structs                     []struct {
			Name   string
			Fields []named
		}
	}
	text, err := os.ReadFile(filepath.Join("..", "api", "api.json"))
	if os.IsNotExist(err) {
		t.Skip("skipped: ../api/api.json is not there")
	}
	ok(t, err)
	ok(t, json.Unmarshal(text, &api))
	names := map[string]bool{}
	for _, list := range [][]named{api.Functions, api.Constants, api.Codes} {
		for _, n := range list {
			names[n.Name] = true
		}
	}
	for _, s := range api.Structs {
		for _, f := range s.Fields {
			if f.Name != "struct_size" && !strings.HasPrefix(f.Name, "reserved") {
				names[s.Name+"."+f.Name] = true
			}
		}
	}
	return names
}

// leftOut reads left_out.txt: the names that a Go program need not have; true: by name, not by the
// beginning of names.
func leftOut(t *testing.T, names map[string]bool) map[string]bool {
	text, err := os.ReadFile(filepath.Join("..", "api", "left_out.txt"))
	ok(t, err)
	out := map[string]bool{}
	for _, line := range strings.Split(string(text), "\n") {
		who, rest, found := strings.Cut(line, ": ")
		what, why, reasoned := strings.Cut(rest, " -- ")
		if strings.HasPrefix(line, "#") || !found {
			continue
		}
		if !reasoned || why == "" {
			t.Errorf("left_out.txt gives no reason: %s", line)
		}
		if who != "all" && !strings.Contains(" "+who+" ", " go ") {
			continue
		}
		for _, word := range strings.Fields(what) {
			beginning, isBeginning := strings.CutSuffix(word, "*")
			for name := range names {
				if name == word || isBeginning && strings.HasPrefix(name, beginning) {
					out[name] = out[name] || !isBeginning
				}
			}
		}
	}
	return out
}

// goList runs go list on this package.
func goList(t *testing.T, flags ...string) []string {
	out, err := exec.Command("go", append(append([]string{"list"}, flags...), ".")...).Output()
	ok(t, err)
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// compiled type checks the package as cgo gives it to the compiler.
func compiled(t *testing.T) (*types.Package, *types.Info) {
	exports := map[string]string{}
	for _, line := range goList(t, "-export", "-deps", "-f", "{{.ImportPath}}={{.Export}}") {
		path, file, _ := strings.Cut(line, "=")
		exports[path] = file
	}
	files := token.NewFileSet()
	imports := importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	var parsed []*ast.File
	for _, path := range goList(t, "-compiled", "-f", `{{join .CompiledGoFiles "\n"}}`) {
		file, err := parser.ParseFile(files, path, nil, 0)
		ok(t, err)
		parsed = append(parsed, file)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	// cgo's own file has a few things that only the compiler takes.
	config := types.Config{Importer: imports, Error: func(error) {}, Sizes: types.SizesFor("gc", "amd64")}
	pkg, _ := config.Check("wq", files, parsed, info)
	return pkg, info
}

// usedFields are the fields of structs of C that the package names.
func usedFields(t *testing.T) map[string]bool {
	pkg, info := compiled(t)
	owners := map[types.Object]string{}
	for _, name := range pkg.Scope().Names() {
		plain, isStruct := strings.CutPrefix(name, "_Ctype_struct_")
		if !isStruct {
			continue
		}
		if s, yes := pkg.Scope().Lookup(name).Type().Underlying().(*types.Struct); yes {
			for i := range s.NumFields() {
				owners[s.Field(i)] = plain + "." + s.Field(i).Name()
			}
		}
	}
	used := map[string]bool{}
	for _, object := range info.Uses {
		if name, yes := owners[object]; yes {
			used[name] = true
		}
	}
	return used
}

// rawName is the name of a constant in constants.go: WQ_E_NO_KEY is rawENoKey.
func rawName(name string) string {
	raw := "raw"
	for _, word := range strings.Split(strings.ToLower(strings.TrimPrefix(name, "WQ_")), "_") {
		raw += strings.ToUpper(word[:1]) + word[1:]
	}
	return raw
}

var cWord = regexp.MustCompile(`\b(?:C\.)?((?:wq|WQ)_\w+|raw[A-Z]\w*)`)

// usedWords are functions and constants that the sources name.
func usedWords(t *testing.T) map[string]bool {
	used := map[string]bool{}
	for _, pattern := range []string{"*.go", "shim.c"} {
		paths, err := filepath.Glob(pattern)
		ok(t, err)
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") || path == "constants.go" {
				continue
			}
			text, err := os.ReadFile(path)
			ok(t, err)
			for _, line := range strings.Split(string(text), "\n") {
				code, _, _ := strings.Cut(line, "//")
				for _, m := range cWord.FindAllStringSubmatch(code, -1) {
					used[m[1]] = true
				}
			}
		}
	}
	return used
}

func TestTheSurfaceHasAllOfTheHeader(t *testing.T) {
	names := wanted(t)
	out := leftOut(t, names)
	fields, words := usedFields(t), usedWords(t)
	for name := range names {
		byName, isOut := out[name]
		reached := fields[name] || words[name] || strings.HasPrefix(name, "WQ_") && words[rawName(name)]
		if !reached && !isOut {
			t.Errorf("%s: not in the surface, and not in bindings/api/left_out.txt", name)
		}
		if reached && byName {
			t.Errorf("%s: is in the surface, and left_out.txt says that it is not", name)
		}
	}
	if !fields["wq_job_spec.payload"] {
		t.Error("the type checker found no fields")
	}
}
