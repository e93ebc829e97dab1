// Package lists answers what queues and consumers there are, and which are in trouble: pages of
// a selection, and a summary.
package lists

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
	"github.com/streamsort/streamsort/pkg/tenant"
)

// Selection is what a list is asked for.
type Selection struct {
	// of is what is listed: queues or consumers.
	of string
	// State is what they are in; empty where all are asked for.
	State trouble.State
	// Prefix begins the queues' names, as they are stored: a tenant's own.
	Prefix string
	// Consumer is the only one; empty where all are asked for.
	Consumer string
	// Place is where the page begins; empty for the first.
	Place string
	Limit int
}

// Bounds of a page.
const defaultLimit, maxLimit = 50, 100

// The parameters of the lists.
var (
	queueParameters    = []string{"prefix", "state", "after", "limit"}
	consumerParameters = []string{"consumer", "prefix", "state", "after", "limit"}
)

// Queues reads what queues are asked for.
func Queues(c *httpapi.Call) (Selection, error) { return read(c, "queues", queueParameters) }

// Consumers reads what consumers are asked for.
func Consumers(c *httpapi.Call) (Selection, error) { return read(c, "consumers", consumerParameters) }

func read(c *httpapi.Call, of string, names []string) (Selection, error) {
	if err := c.Only(names...); err != nil {
		return Selection{}, err
	}
	given := map[string]string{}
	for _, name := range names {
		value, err := c.One(name)
		if err != nil {
			return Selection{}, err
		}
		given[name] = value
	}
	s := Selection{of: of, State: trouble.State(given["state"]), Consumer: given["consumer"], Limit: defaultLimit}
	var err error
	if s.Prefix, err = Prefix(c, given["prefix"]); err != nil {
		return s, err
	}
	if err := s.checkState(); err != nil {
		return s, err
	}
	if text := given["limit"]; text != "" {
		if s.Limit, err = strconv.Atoi(text); err != nil || s.Limit < 1 || s.Limit > maxLimit {
			return s, invalid.New(invalid.OutOfRange, "limit", fmt.Sprintf("must be an integer from 1 to %d", maxLimit))
		}
	}
	return s, s.goOn(given["after"])
}

// Prefix is the beginning of stored names that a caller's prefix means: a tenant's names all
// begin with the tenant.
func Prefix(c *httpapi.Call, prefix string) (string, error) {
	if !utf8.ValidString(prefix) {
		return "", invalid.New(invalid.Malformed, "prefix", "is not valid UTF-8")
	}
	if c.Tenant() != "" {
		prefix = tenant.Name(c.Tenant(), prefix)
	}
	if len(prefix) > cursor.MaxQueueName {
		return "", invalid.New(invalid.TooLarge, "prefix", fmt.Sprintf("has %d bytes as it is stored: it must have at most %d", len(prefix), cursor.MaxQueueName))
	}
	return prefix, nil
}

// checkState checks that the state is one that is listed here.
func (s Selection) checkState() error {
	var known []string
	for _, state := range trouble.States {
		of := s.of == "queues" && state != trouble.CircuitOpen || s.of == "consumers" && state != trouble.Gap
		if of && state == s.State || s.State == "" {
			return nil
		}
		if of {
			known = append(known, string(state))
		}
	}
	return invalid.New(invalid.Unknown, "state", "must be one of "+strings.Join(known, ", "))
}

// sum binds a token to what was asked for.
func (s Selection) sum() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", []string{s.of, string(s.State), s.Prefix, s.Consumer}))
	return string(sum[:8])
}

// Token is what to ask for as after, for the page that begins at a place; empty where that is.
func (s Selection) Token(place string) string {
	if place == "" {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString([]byte(s.sum() + place))
}

// goOn has the page begin where a token says. One of another selection, and one that was made up, is
// refused; so is one that would show another tenant's.
func (s *Selection) goOn(token string) error {
	if token == "" {
		return nil
	}
	text, err := base64.RawURLEncoding.DecodeString(token)
	place, ours := strings.CutPrefix(string(text), s.sum())
	if err != nil || !ours || place == "" || !utf8.ValidString(place) || !strings.HasPrefix(place, s.Prefix) {
		return invalid.New(invalid.Malformed, "after", "is not the next of a page of this list: repeat the other parameters as they were")
	}
	s.Place = place
	return nil
}
