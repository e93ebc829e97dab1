package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// TestEveryVerbHasExamples in its help, which are lines that are understood.
func TestEveryVerbHasExamples(t *testing.T) {
	verbs := 0
	var c commands
	parser, err := kong.New(&c, kong.Vars{"version": ""}, groups)
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range parser.Model.Leaves(true) {
		verbs++
		var out, errOut bytes.Buffer
		run(t.Context(), append(strings.Fields(verb.FullPath())[1:], "--help"), nil, &out, &errOut)
		_, shown, ok := strings.Cut(out.String(), "Examples:\n")
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
			var fresh commands
			understands, err := kong.New(&fresh, kong.Vars{"version": ""}, groups)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := understands.Parse(words(typed)); err != nil && !strings.Contains(err.Error(), "no such file") {
				t.Errorf("%s: %q: %v", verb.FullPath(), typed, err)
			}
		}
	}
	if verbs < 20 {
		t.Errorf("%d verbs", verbs)
	}
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
