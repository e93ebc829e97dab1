package streamsort

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// What Build builds are all the functions that there are.
func TestFunctionNames(t *testing.T) {
	entries := check.Get(os.ReadDir("../../../functions"))
	var want []string
	for _, e := range entries {
		if e.IsDir() {
			want = append(want, e.Name())
		}
	}
	diff := cmp.Diff(want, slices.Sorted(slices.Values(functionNames())))
	check.That(t, diff == "", "(- there are, + are built)\n%s", diff)
}

// A package that does not compile is named, with what the go command said. examples/shop builds
// those that do.
func TestBuildReportsWhatFails(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/x\n\ngo 1.26\n",
		"bad/main.go": "package main\n\nfunc main() { nothing() }\n"} {
		check.OK(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755))
		check.OK(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644))
	}
	t.Chdir(folder)
	err := Build(filepath.Join(folder, "dist"), ARM64, "./bad")
	for _, want := range []string{"go build ./bad: ", "undefined: nothing",
		"go build github.com/streamsort/streamsort/functions/webhook: "} {
		check.That(t, err != nil && strings.Contains(err.Error(), want), "error %v\nwant %s", err, want)
	}
}
