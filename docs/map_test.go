package docs_test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/streamsort/streamsort/"

var (
	row    = regexp.MustCompile(`(?m)^\| (` + "`[^|]+)" + ` \|[^|]+\|([^|]*)\|$`)
	quoted = regexp.MustCompile("`([^`]+)`")
)

// readMap is what each folder of the map may import.
func readMap(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("map.md")
	if err != nil {
		t.Fatal(err)
	}
	rooms := map[string][]string{}
	for _, columns := range row.FindAllStringSubmatch(string(text), -1) {
		var may []string
		for _, one := range quoted.FindAllStringSubmatch(columns[2], -1) {
			may = append(may, one[1])
		}
		for _, one := range quoted.FindAllStringSubmatch(columns[1], -1) {
			rooms[one[1]] = may
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

// TestImportsKeepToTheMap: each package is in a room of the map, and imports
// what the map lets it import. A room that nothing is in is not on it.
func TestImportsKeepToTheMap(t *testing.T) {
	rooms := readMap(t)
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, module+"...").Output()
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		folder := strings.TrimPrefix(words[0], module)
		if folder == "docs" {
			continue
		}
		room, found := roomOf(rooms, folder)
		if !found {
			t.Errorf("%s is in no room of docs/map.md", folder)
			continue
		}
		used[room] = true
		for _, imported := range words[1:] {
			other, own := strings.CutPrefix(imported, module)
			if own && !allowed(rooms, room, other) {
				t.Errorf("%s imports %s, and docs/map.md does not say that it may", folder, other)
			}
		}
	}
	for room := range rooms {
		if !used[room] {
			t.Errorf("docs/map.md has the room %s, and nothing is in it", room)
		}
	}
}

// allowed reports whether a room may import a package: the map names its room,
// or the whole folder at the top that it is in.
func allowed(rooms map[string][]string, room, imported string) bool {
	target, _ := roomOf(rooms, imported)
	top, _, _ := strings.Cut(imported, "/")
	return target == room || slices.Contains(rooms[room], target) || slices.Contains(rooms[room], top)
}
