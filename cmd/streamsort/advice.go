package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
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

// advice says what to do about an error that does not say it itself; empty where nothing better is
// known.
func advice(err error, api string) string {
	var network *net.OpError
	var request *url.Error
	var problem *client.Problem
	switch {
	case errors.As(err, &network) && network.Op == "listen":
		return "is another stack running? End it, or take another port by --port"
	case errors.As(err, &network) && network.Op == "dial":
		if errors.As(err, &request) && !strings.HasPrefix(request.URL, api) {
			return "nothing answers there: is AWS_ENDPOINT_URL_DYNAMODB what `streamsort local` prints as \"DynamoDB at\"?"
		}
		return "nothing answers at " + api + ": `streamsort local` starts a stack here; --url, STREAMSORT_URL or a context says where another is"
	case errors.As(err, &problem) && problem.Code == "":
		return adviceAbout(problem.Status)
	}
	return ""
}

// adviceAbout is what to do about an answer that is not of our functions, but of what stands before
// them.
func adviceAbout(status int) string {
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return "--sign signs for IAM at a custom domain, with credentials that may call the API (execute-api:Invoke); --token takes a tenant's token"
	case status == http.StatusNotFound || status >= 300 && status < 400:
		return "is --url the API's own address, the output ApiUrl of the stack, with its stage if it has one?"
	case status == http.StatusTooManyRequests:
		return "the API is at its limit: try again later, or with a lower --concurrency"
	case status >= http.StatusInternalServerError:
		return "try again later; if it stays, the log of the function behind it says more"
	}
	return ""
}

// near is the name that is most like the one that was typed; empty where none is. Two letters in
// each other's place count as two that are wrong.
func near(typed string, names []string) string {
	best, least := "", 1+max(1, (len(typed)+1)/3)
	for _, name := range names {
		if d := levenshtein.ComputeDistance(strings.ToLower(typed), strings.ToLower(name)); d < least &&
			name != typed {
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
// not there. Where none is, it says which API was asked, if one was and the line does not.
func (s *session) otherName(err error, line *kong.Context) string {
	queue, code := typed(line, "queue"), client.CodeOf(err)
	if p, err := parsePlaced(typed(line, "message")); queue == "" && err == nil {
		queue = p.queue
	}
	kind, name, query := "", "", url.Values{}
	switch {
	case errors.Is(err, cursor.ErrNoQueue) || code == "no-queue":
		kind, name = "queue", queue
	case code == "no-consumer":
		kind, name = "consumer", typed(line, "consumer")
		query.Set("queue", queue)
	case code == "no-chain":
		kind, name = "chain", typed(line, "tag")
		query.Set("state", "open")
	}
	if kind != "consumer" && name != "" {
		query.Set("prefix", string([]rune(name)[0]))
	}
	if other := s.otherOf(kind, name, query); other != "" {
		return fmt.Sprintf("there is no %s %q; did you mean %q?", kind, printable.Text(name),
			printable.Text(other))
	}
	if kind != "" && code != "" && s.given.URL == "" {
		return s.URL + " was asked; --context or --url names another stack"
	}
	return ""
}

// otherOf looks among those that begin alike, or belong together: one page of a list, which is what
// an error may cost. It is empty where none is nearly called so, or one is.
func (s *session) otherOf(kind, name string, query url.Values) string {
	type named struct{ Queue, Consumer, Tag string }
	var page struct{ List, Consumers []named }
	if name == "" {
		return ""
	}
	if _, err := s.get("/"+kind+"s", query, &page); err != nil {
		return ""
	}
	var names []string
	for _, it := range append(page.List, page.Consumers...) {
		names = append(names, map[string]string{"queue": it.Queue, "consumer": it.Consumer,
			"chain": it.Tag}[kind])
	}
	if slices.Contains(names, name) {
		return ""
	}
	return near(name, names)
}

// The exit codes. One that is interrupted has done what it was asked for.
const (
	exitDone        = 0
	exitRefused     = 1 // refused, or done in part
	exitUsage       = 2 // the line is wrong
	exitUnreachable = 3 // nobody answered
)

// usageError is a line that is wrong, which the parser could not know.
type usageError string

func (e usageError) Error() string { return string(e) }

func usage(format string, arguments ...any) error {
	return usageError(fmt.Sprintf(format, arguments...))
}

func exitOf(err error) int {
	var network *net.OpError
	switch {
	case err == nil || errors.Is(err, context.Canceled):
		return exitDone
	case errors.As(err, new(usageError)):
		return exitUsage
	case errors.As(err, new(*url.Error)), errors.As(err, &network) && network.Op == "dial":
		return exitUnreachable
	}
	return exitRefused
}

const exitHelp = "Exit codes: 0 done, 1 refused or done in part, 2 the line is wrong, 3 nobody answered."
