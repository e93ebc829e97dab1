package main

import (
	"flag"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/pages"
)

var updateReference = flag.Bool("update", false, "write the verbs into docs/reference/cli.md")

// parsing is a parser of lines.
func parsing(t *testing.T, options ...kong.Option) *kong.Kong {
	t.Helper()
	parser := check.Get(kong.New(&commands{}, append(options, kong.Vars{"version": ""}, groups)...))
	return parser
}

// TestReference holds docs/reference/cli.md to the verbs that there are; --help has the flags.
func TestReference(t *testing.T) {
	var titles []string
	tables := map[string]string{}
	for _, verb := range parsing(t).Model.Leaves(true) {
		title := strings.TrimSuffix(verb.ClosestGroup().Title, ":")
		if tables[title] == "" {
			titles = append(titles, title)
			tables[title] = "\n### " + title + "\n\n| verb | |\n|---|---|\n"
		}
		typed, _, _ := strings.Cut(strings.TrimPrefix(verb.Summary(), "streamsort "), " [flags]")
		help, _, _ := strings.Cut(verb.Help, "\n")
		cells := strings.ReplaceAll("`"+typed+"` \x00 "+help, "|", "\\|")
		tables[title] += "| " + strings.ReplaceAll(cells, "\x00", "|") + " |\n"
	}
	text := ""
	for _, title := range titles {
		text += tables[title]
	}
	part := pages.Part{
		Path:   filepath.Join("..", "..", "docs", "reference", "cli.md"),
		Begins: "<!-- verbs: begin -->\n", Ends: "<!-- verbs: end -->\n",
	}
	if *updateReference {
		check.OK(t, part.Write(text))
	}
	check.OK(t, part.Holds(text, "go test ./cmd/streamsort -run TestReference -update"))
}
