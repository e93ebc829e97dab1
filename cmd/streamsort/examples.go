package main

import (
	_ "embed"
	"strings"

	"github.com/alecthomas/kong"
)

// examples has a paragraph for each verb: its name, what else is to be said of it, and lines to
// type, which are indented.
//
//go:embed examples.txt
var examples string

// withExamples has the help of each verb end with its paragraph.
var withExamples = kong.PostBuild(func(parser *kong.Kong) error {
	for _, verb := range parser.Model.Leaves(false) {
		_, text, ok := strings.Cut("\n\n"+examples,
			"\n\n"+strings.TrimPrefix(verb.FullPath(), "streamsort ")+"\n")
		if !ok {
			continue
		}
		text, _, _ = strings.Cut(text, "\n\n")
		said, lines, _ := strings.Cut("\n"+text, "\n    ")
		verb.Detail = strings.TrimSpace(strings.ReplaceAll(said, "\n", " ") +
			"\n\nExamples:\n\n    " + lines)
	}
	return nil
})
