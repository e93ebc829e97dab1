package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// goTest finds what a page has its reader type: the tag, the folder and the test or benchmark.
var goTest = regexp.MustCompile(`go test (-tags\s+whole\s+)?(\./[\w./]+)\s+-(run|bench)\s+'?(\w+)`)

// TestCommandsRunSomething: a test that a page has run is built by the command that it gives.
func TestCommandsRunSomething(t *testing.T) {
	for _, page := range pages(t) {
		text := check.Get(os.ReadFile(page))
		for _, found := range goTest.FindAllStringSubmatch(string(text), -1) {
			whole, folder, name := found[1] != "", found[2], found[4]
			if folder == "./otlp" { // a module of its own
				folder = "./pkg/delivery/otel/otlp"
			}
			if name != "xxx" && !isBuilt(t, filepath.Join("..", folder), name, whole) {
				t.Errorf("%s: %q runs nothing: no test that it builds has that name", page, found[0])
			}
		}
	}
}

// isBuilt tells if a test's files, with those for -tags whole or without, have one that a pattern
// finds.
func isBuilt(t *testing.T, folder, pattern string, whole bool) bool {
	t.Helper()
	files := check.Get(filepath.Glob(filepath.Join(folder, "*_test.go")))
	test := regexp.MustCompile(`(?m)^func \w*` + pattern)
	for _, file := range files {
		text := check.Get(os.ReadFile(file))
		if (whole || !strings.HasPrefix(string(text), "//go:build whole")) && test.Match(text) {
			return true
		}
	}
	return false
}
