package docs_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

const module = "github.com/streamsort/streamsort/"

// readMap is what each folder of the map may import: those of a line have the same imports.
func readMap(t *testing.T) map[string][]string {
	t.Helper()
	text := check.Get(os.ReadFile("internals/imports.txt"))
	page := check.Get(os.ReadFile("internals/map.md"))
	rooms := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		folders, may, found := strings.Cut(line, ":")
		if !found || line[0] == '#' {
			continue
		}
		for folder := range strings.SplitSeq(folders, ", ") {
			rooms[folder] = strings.Fields(may)
			if !strings.Contains(string(page), "`"+folder+"`") {
				t.Errorf("docs/internals/map.md does not say what %s is", folder)
			}
		}
	}
	return rooms
}

// roomOf is the folder of the map that a package is in: the innermost.
func roomOf(rooms map[string][]string, folder string) (string, bool) {
	for ; folder != ""; folder = folder[:max(strings.LastIndex(folder, "/"), 0)] {
		if _, found := rooms[folder]; found {
			return folder, true
		}
	}
	return "", false
}

// importsOf is what each package of the module imports of it, but in its tests, by folder. The
// files are read here: what another command prints would not make the test run again.
func importsOf(t *testing.T, root string) map[string][]string {
	t.Helper()
	imports := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		folder, name := filepath.Split(path)
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			_, noModule := os.Stat(filepath.Join(path, "go.mod"))
			if path != root && (noModule == nil || name == "testdata" || name == "node_modules" ||
				strings.HasPrefix(name, ".")) {
				return filepath.SkipDir
			}
			return nil
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(root, folder)
		if err != nil {
			return err
		}
		all := imports[filepath.ToSlash(inside)]
		for _, one := range file.Imports {
			if other, own := strings.CutPrefix(strings.Trim(one.Path.Value, `"`), module); own {
				all = append(all, other)
			}
		}
		imports[filepath.ToSlash(inside)] = all
		return nil
	})
	check.OK(t, err)
	return imports
}

// TestImportsKeepToTheMap: each package is in a room of the map, and imports what the map lets it
// import. A room that nothing is in is not on it.
func TestImportsKeepToTheMap(t *testing.T) {
	rooms := readMap(t)
	used := map[string]bool{}
	for folder, imports := range importsOf(t, "..") {
		room, found := roomOf(rooms, folder)
		if !found {
			t.Errorf("%s is in no room of docs/internals/imports.txt", folder)
			continue
		}
		used[room] = true
		for _, other := range imports {
			if !allowed(rooms, room, other) {
				t.Errorf("%s imports %s, and docs/internals/imports.txt does not say that it may", folder,
					other)
			}
		}
	}
	for room := range rooms {
		if !used[room] {
			t.Errorf("docs/internals/imports.txt has the room %s, and nothing is in it", room)
		}
	}
}

// allowed reports whether a room may import a package: the map names its room, or the whole folder
// at the top that it is in.
func allowed(rooms map[string][]string, room, imported string) bool {
	target, _ := roomOf(rooms, imported)
	top, _, _ := strings.Cut(imported, "/")
	return target == room || slices.Contains(rooms[room], target) || slices.Contains(rooms[room], top)
}
