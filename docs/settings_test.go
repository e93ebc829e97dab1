package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/pkg/cursor"
)

var variable = regexp.MustCompile(`"(STREAMSORT_[A-Z_]+[A-Z])"`)

// variables are the environment variables that the product's code names.
func variables(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, folder := range []string{"cmd", "functions", "internal", "pkg"} {
		err := filepath.WalkDir(filepath.Join("..", folder),
			func(path string, d fs.DirEntry, err error) error {
				switch {
				case err != nil:
					return err
				case d.IsDir() && (path == "../internal/dev" || strings.HasSuffix(path, "testdata")):
					return fs.SkipDir
				case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
					return nil
				}
				text, err := os.ReadFile(path)
				for _, found := range variable.FindAllStringSubmatch(string(text), -1) {
					all[found[1]] = true
				}
				return err
			})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// TestSettingsOfQueuesAndFunctionsAreListed: the page has each setting of a queue, and each
// environment variable.
func TestSettingsOfQueuesAndFunctionsAreListed(t *testing.T) {
	page, err := os.ReadFile("reference/settings.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range (cursor.Settings{Kind: cursor.KindKeyed, KeyType: "time"}).All() {
		if !strings.Contains(string(page), "\n| `"+name+"` |") {
			t.Errorf("docs/reference/settings.md has no row of the queue setting %s", name)
		}
	}
	for name := range variables(t) {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("docs/reference/settings.md does not list %s", name)
		}
	}
}
