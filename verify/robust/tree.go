package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// database is a database's files.
type database []file

type file struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// words are the text's words, as they must be counted.
func (f file) words() []string {
	return strings.FieldsFunc(strings.ToLower(f.Text), func(r rune) bool {
		return !unicode.IsLetter(r)
	})
}

// edges is how many nodes the database's tree has.
func (d database) edges() int {
	n := 1 + len(d)
	for _, f := range d {
		n += len(f.words())
	}
	return n
}

// counts are how often each word must be counted.
func (d database) counts() map[string]int {
	counts := map[string]int{}
	for _, f := range d {
		for _, word := range f.words() {
			counts[word]++
		}
	}
	return counts
}

// ended is what became of a database.
type ended struct {
	tag    string
	steps  []step
	failed []step
	ends   []step
	counts map[string]int
	sealed bool
}

// of keeps the lines of one chain.
func of(tag string, lines []step) []step {
	return slices.DeleteFunc(slices.Clone(lines), func(l step) bool { return l.Tag != tag })
}

// check returns all that is not as it must be.
func (e ended) check(d database, failing string) error {
	var wrong []error
	add := func(format string, arguments ...any) {
		wrong = append(wrong, fmt.Errorf("%s: "+format, append([]any{e.tag}, arguments...)...))
	}
	for _, l := range e.ends {
		if l.Outcome != "DONE" || l.Edges != d.edges() || l.Ended != d.edges() {
			add("ended %s with %d edges and %d ended, want DONE with %d", l.Outcome,
				l.Edges, l.Ended, d.edges())
		}
		if l.ID == "" || l.ID != e.ends[0].ID {
			add("the end was announced under the ids %q and %q", e.ends[0].ID, l.ID)
		}
	}
	// A repeat of the step that ended the tree is answered the same.
	last := map[string]bool{}
	for _, s := range e.steps {
		if s.Outcome == "ended" {
			last[s.Edge] = true
			if s.N != "0" {
				add("%s ended the tree with n = %s", s.Name, s.N)
			}
		}
	}
	if len(e.ends) == 0 || len(last) != 1 {
		add("%d steps ended the tree, and %d ends were announced", len(last), len(e.ends))
	}
	if !maps.Equal(e.counts, d.counts()) {
		add("counted %v, want %v", e.counts, d.counts())
	}
	if want := 2 * min(1, d.counts()[failing]); len(e.failed) != want {
		add("%d tries failed, want %d", len(e.failed), want)
	}
	if !e.sealed {
		add("something is left to do for the end")
	}
	return errors.Join(wrong...)
}
