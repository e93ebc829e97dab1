// Package lists answers what queues and consumers there are, and which of them and of the chains
// are in trouble: pages of a selection, and a summary.
package lists

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/internal/view"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
	"github.com/streamsort/streamsort/pkg/tenant"
)

// Selection is what a list is asked for.
type Selection struct {
	kind *Kind
	// State is what they are in; empty where all are asked for.
	State view.State `json:"state"`
	// Prefix begins the queues' names, or the chains' tags, as they are stored: a tenant's own.
	Prefix string `json:"prefix"`
	// Consumer is the only one; empty where all are asked for.
	Consumer string `json:"consumer"`
	// Place is where the page begins, which After is the token of; empty for the first. In is the
	// state of the rows that it is among, where a state is asked for.
	Place string
	In    trouble.State
	After string `json:"after"`
	Limit int    `json:"limit" bounds:"1..100" default:"50"`
}

// Open is the state of chains that have not ended: there are no rows of it.
const Open view.State = "open"

// Kind is what there are lists of. A request without the parameter one is for a list.
type Kind struct {
	name, one string
	// beside are the parameters that may stand beside one, ofList those that may not.
	beside, ofList []string
	states         []view.State
}

var (
	listed = []string{"prefix", "state", "after", "limit"}

	// Queues are listed without a queue.
	Queues = &Kind{"queues", "queue", nil, listed, []view.State{view.Gap}}
	// Consumers are listed without a queue.
	Consumers = &Kind{"consumers", "queue", []string{"consumer", "after", "limit"}, listed[:2],
		[]view.State{view.Blocked, view.InDoubt, view.Held, view.Retrying, view.Paused, view.CatchingUp}}
	// Chains are listed without a tag.
	Chains = &Kind{"chains", "tag", nil, listed,
		[]view.State{Open, view.State(trouble.Failed), view.State(trouble.TimedOut)}}
)

// Check reports a parameter that the kind has not, or not beside one.
func (k *Kind) Check(c *httpapi.Call) error {
	names := slices.Concat([]string{k.one}, k.beside, k.ofList)
	for _, name := range slices.Sorted(maps.Keys(c.Query)) {
		if !slices.Contains(names, name) {
			return strictjson.In(name, strictjson.Unknown(names))
		}
		if c.Query.Has(k.one) && slices.Contains(k.ofList, name) {
			return invalid.New(invalid.Misplaced, name, "belongs to a list: give no "+k.one+" with it")
		}
	}
	return nil
}

// Read reads what is asked for of a kind.
func Read(c *httpapi.Call, kind *Kind) (Selection, error) {
	s := Selection{kind: kind}
	err := cmp.Or(kind.Check(c), c.Parameters(&s))
	if err == nil {
		s.Prefix, err = Prefix(c, s.Prefix)
	}
	if err == nil {
		err = s.checkState()
	}
	if err == nil {
		err = s.goOn(s.After)
	}
	return s, err
}

// Prefix is the beginning of stored names that a caller's prefix means: a tenant's names all begin
// with the tenant.
func Prefix(c *httpapi.Call, prefix string) (string, error) {
	if !utf8.ValidString(prefix) {
		return "", invalid.New(invalid.Malformed, "prefix", "is not valid UTF-8")
	}
	if c.Tenant() != "" {
		prefix = tenant.Name(c.Tenant(), prefix)
	}
	if len(prefix) > cursor.MaxQueueName {
		return "",
			invalid.New(invalid.TooLarge, "prefix",
				fmt.Sprintf("has %d bytes as it is stored: it must have at most %d", len(prefix),
					cursor.MaxQueueName))
	}
	return prefix, nil
}

func (s Selection) checkState() error {
	switch {
	case s.State == "" && s.kind == Chains:
		return invalid.New(invalid.Missing, "tag", "or state must be given")
	case s.State == "" || slices.Contains(s.kind.states, s.State):
		return nil
	}
	var names []string
	for _, state := range s.kind.states {
		names = append(names, string(state))
	}
	return invalid.New(invalid.Unknown, "state", "must be one of "+strings.Join(names, ", "))
}

// sum binds a token to what was asked for.
func (s Selection) sum() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q",
		[]string{s.kind.name, string(s.State), s.Prefix, s.Consumer}))
	return string(sum[:8])
}

// Token is what to ask for as after, for the page that begins at a place; empty where that is.
func (s Selection) Token(place string) string {
	if place == "" {
		return ""
	}
	if s.rows() {
		place = string(s.In) + "\n" + place
	}
	return base64.RawURLEncoding.EncodeToString([]byte(s.sum() + place))
}

func (s Selection) rows() bool { return s.State != "" && s.State != Open }

// goOn has the page begin where a token says. One of another selection, and one that was made up,
// is refused; so is one that would show another tenant's.
func (s *Selection) goOn(token string) error {
	if token == "" {
		return nil
	}
	text, err := base64.RawURLEncoding.DecodeString(token)
	place, ours := strings.CutPrefix(string(text), s.sum())
	if ours && s.rows() {
		var in string
		in, place, ours = strings.Cut(place, "\n")
		s.In = trouble.State(in)
	}
	if err != nil || !ours || place == "" || !utf8.ValidString(place) ||
		!strings.HasPrefix(place, s.Prefix) {
		return invalid.New(invalid.Malformed, "after", "is not the next of a page of this list: repeat the other parameters as they were")
	}
	// A place is a sort key of DynamoDB, or a queue's name; an open chain has its tag and more in it.
	most := cursor.MaxQueueName
	if s.State == Open {
		most *= 2
	}
	if len(place) > most {
		return invalid.New(invalid.TooLarge, "after",
			fmt.Sprintf("has a place of %d bytes: it must have at most %d", len(place), most))
	}
	s.Place = place
	return nil
}
