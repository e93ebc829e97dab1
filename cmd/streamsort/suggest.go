package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/alecthomas/kong"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/printable"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// near is the name that is most like the one that was typed; empty where none is. Two letters in
// each other's place count as two that are wrong.
func near(typed string, names []string) string {
	best, least := "", 1+max(1, (len(typed)+1)/3)
	for _, name := range names {
		if d := levenshtein.ComputeDistance(strings.ToLower(typed), strings.ToLower(name)); d < least && name != typed {
			best, least = name, d
		}
	}
	return best
}

// ofEnum is how the parser says that a value is unknown.
var ofEnum = regexp.MustCompile(`must be one of (.*) but got "(.*)"$`)

// notAVerb is how the parser says that a word is no verb, nor like one.
var notAVerb = regexp.MustCompile(`^unexpected argument ([a-z-]+)$`)

// elsewhere are the verbs that do what a word of other programs means.
var elsewhere = map[string]string{
	"list": "queue", "ls": "queue", "status": "queue QUEUE", "show": "queue QUEUE", "gaps": "queue QUEUE", "audit": "queue QUEUE --audit",
	"summary": "doctor", "verify": "doctor QUEUE", "trace": "inspect QUEUE@SEQ", "get": "inspect QUEUE@SEQ",
	"create": "consumer create", "remove": "consumer remove", "delete": "consumer remove", "settle": "consumer settle", "release": "consumer settle",
	"retry": "redrive", "help": "--help", "completion": "--completion",
}

// meant is what to type instead of an unknown word or value; empty where nothing is like it.
func meant(err error) string {
	if found := notAVerb.FindStringSubmatch(err.Error()); found != nil {
		if other := elsewhere[found[1]]; other != "" {
			return fmt.Sprintf(", did you mean `streamsort %s`?", other)
		}
		return ""
	}
	found := ofEnum.FindStringSubmatch(err.Error())
	if found == nil {
		return ""
	}
	if name := near(found[2], strings.Split(strings.ReplaceAll(found[1], `"`, ""), ",")); name != "" {
		return fmt.Sprintf(", did you mean %q?", name)
	}
	return ""
}

// typed is an argument of the line, by its name; empty where the verb has none of it.
func typed(line *kong.Context, name string) string {
	for _, part := range line.Path {
		if part.Positional != nil && part.Positional.Name == name && part.Positional.Target.IsValid() {
			return part.Positional.Target.String()
		}
	}
	return ""
}

// otherName says which queue, consumer or chain is nearly called like the one of the line that is
// not there; empty where none is, or where it cannot be asked.
func (s *session) otherName(err error, line *kong.Context) string {
	var problem *client.Problem
	code := ""
	switch {
	case errors.As(err, &problem):
		code = problem.Code
	case errors.Is(err, cursor.ErrNoQueue):
		code = "no-queue"
	}
	queue, consumer, tag := typed(line, "queue"), typed(line, "consumer"), typed(line, "tag")
	if p, err := parsePlaced(typed(line, "message")); queue == "" && err == nil {
		queue = p.queue
	}
	kind, name, other := "", "", ""
	switch code {
	case "no-queue":
		kind, name = "queue", queue
		other = s.otherOf(kind, name, "/queues", "list", url.Values{"prefix": {initial(name)}})
	case "no-consumer":
		kind, name = "consumer", consumer
		other = s.otherOf(kind, name, "/consumers", "consumers", url.Values{"queue": {queue}})
	case "no-chain":
		kind, name = "chain", tag
		other = s.otherOf(kind, name, "/chains", "list", url.Values{"state": {"open"}, "prefix": {initial(name)}})
	}
	if other == "" {
		return ""
	}
	return fmt.Sprintf("there is no %s %q; did you mean %q?", kind, printable.Text(name), printable.Text(other))
}

// initial is the first letter of a name.
func initial(name string) string {
	for _, letter := range name {
		return string(letter)
	}
	return ""
}

// otherConsumer is the consumer of some queue that is nearly called like one that a selection
// names; empty where none is, or one is called so.
func (s *session) otherConsumer(name string) string {
	return s.otherOf("consumer", name, "/consumers", "list", url.Values{"limit": {"100"}})
}

// otherOf looks among those that begin alike: one page of a list, which is what an error may cost.
func (s *session) otherOf(kind, name, path, list string, query url.Values) string {
	if name == "" {
		return ""
	}
	var page map[string]json.RawMessage
	if _, err := s.get(path, query, &page); err != nil {
		return ""
	}
	var all []struct{ Queue, Consumer, Tag string }
	if json.Unmarshal(page[list], &all) != nil {
		return ""
	}
	var names []string
	for _, it := range all {
		names = append(names, map[string]string{"queue": it.Queue, "consumer": it.Consumer, "chain": it.Tag}[kind])
	}
	if slices.Contains(names, name) {
		return ""
	}
	return near(name, names)
}
