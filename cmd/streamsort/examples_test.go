package main

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// TestEveryVerbHasExamples in its help, which are lines that are understood.
func TestEveryVerbHasExamples(t *testing.T) {
	verbs := 0
	for _, verb := range parsing(t).Model.Leaves(true) {
		verbs++
		out, _, _ := prints(t, append(strings.Fields(verb.FullPath())[1:], "--help")...)
		_, shown, ok := strings.Cut(out, "Examples:\n")
		if !ok {
			t.Errorf("%s has no examples", verb.FullPath())
			continue
		}
		shown, _, _ = strings.Cut(shown, "\nFlags:")
		shown, _, _ = strings.Cut(shown, "\nArguments:")
		for line := range strings.Lines(shown) {
			_, typed, isOne := strings.Cut(strings.TrimSpace(line), "streamsort ")
			if !isOne {
				continue
			}
			_, err := parsing(t).Parse(words(typed))
			check.That(t, err == nil || strings.Contains(err.Error(), "no such file"), "%s: %q: %v",
				verb.FullPath(), typed, err)
		}
	}
	check.That(t, verbs >= 20, "%d verbs", verbs)
}

// typedIn finds what a page has its reader type: in backticks, or in a block, a line of its own.
var typedIn = regexp.MustCompile("`streamsort ([^`\n]+)`|(?m)^(?:\\$ | {4,})?(?:go run \\./cmd/)?streamsort (.+)$")

// TestPagesTypeVerbs: each line of README and of docs/ that begins with streamsort is understood:
// its verb, its flags and how many arguments it has. A verb alone may be a mention.
func TestPagesTypeVerbs(t *testing.T) {
	root := filepath.Join("..", "..")
	pages := []string{filepath.Join(root, "README.md")}
	err := filepath.WalkDir(filepath.Join(root, "docs"),
		func(path string, _ fs.DirEntry, err error) error {
			if filepath.Ext(path) == ".md" {
				pages = append(pages, path)
			}
			return err
		})
	check.OK(t, err)
	lines := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		check.OK(t, err)
		for _, found := range typedIn.FindAllStringSubmatch(string(text), -1) {
			line, _, _ := strings.Cut(found[1]+found[2], " #")
			for _, end := range []string{" | ", " && ", " …"} {
				line, _, _ = strings.Cut(line, end)
			}
			if lines++; !understood(t, words(line)) {
				t.Errorf("%s: streamsort %s", page, line)
			}
		}
	}
	check.That(t, lines >= 10, "only %d lines were found", lines)
}

// understood reports whether a line parses, but for what is missing in it.
func understood(t *testing.T, line []string) bool {
	t.Helper()
	for i := range line {
		line[i], _, _ = strings.Cut(line[i], "|") // one of several
	}
	_, err := parsing(t, kong.Exit(func(int) {}), kong.Writers(io.Discard, io.Discard)).Parse(line)
	if err == nil || strings.Contains(err.Error(), "no such file") {
		return true
	}
	mention := strings.HasPrefix(err.Error(), "expected ") ||
		strings.HasPrefix(err.Error(), "missing flags") ||
		strings.Contains(err.Error(), "missing value") || strings.Contains(err.Error(), "EOL")
	if !mention {
		t.Log(err)
	}
	return mention
}

// words are those of a line for a shell, some in single quotes.
func words(line string) []string {
	var all []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			all = append(all, part)
			continue
		}
		all = append(all, strings.Fields(part)...)
	}
	return all
}
