package streamsort

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What Build builds are all the functions that there are.
func TestFunctionNames(t *testing.T) {
	entries, err := os.ReadDir("../../../functions")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, e := range entries {
		if e.IsDir() {
			want = append(want, e.Name())
		}
	}
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(functionNames()))); diff != "" {
		t.Errorf("(- there are, + are built)\n%s", diff)
	}
}

// A package that does not compile is named, with what the go command said. examples/shop builds
// those that do.
func TestBuildReportsWhatFails(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/x\n\ngo 1.26\n", "bad/main.go": "package main\n\nfunc main() { nothing() }\n"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(folder)
	err := Build(filepath.Join(folder, "dist"), ARM64, "./bad")
	for _, want := range []string{"go build ./bad: ", "undefined: nothing", "go build github.com/streamsort/streamsort/functions/webhook: "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v\nwant %s", err, want)
		}
	}
}
