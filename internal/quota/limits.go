package quota

import (
	"errors"
	"fmt"
	"time"

	"github.com/streamsort/streamsort/internal/assetfile"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/tenant"
)

// File is the name of the file with the quotas, which lies beside a function's
// program:
//
//	{"quotas": [
//	  {"name": "*", "messages": 100, "bytes": 1000000, "newQueues": 60, "newChains": 600},
//	  {"name": "acme", "messages": 5000}
//	]}
//
// An entry is that of one tenant, and the entry * that of all tenants without one of
// their own. What an entry does not name has no bound.
const File = "quotas.json"

// Max is how many entries the file has at most.
const Max = 1000

// everyone is the name of the entry of all tenants without one of their own.
const everyone = "*"

// Kind is what a quota bounds.
type Kind int

// The kinds, in the order in which they are looked at.
const (
	Messages Kind = iota
	Bytes
	NewQueues
	NewChains
	kinds
)

// terms are how each kind is written, and what its limit is of.
var terms = [kinds]struct {
	name string
	// per is the time that a limit is for, and window how long each count goes on: a
	// tenant may take what it has for a whole window at once.
	per, window time.Duration
	// word is per, in an answer.
	word string
}{
	Messages:  {"messages", time.Second, rateWindow, "second"},
	Bytes:     {"bytes", time.Second, rateWindow, "second"},
	NewQueues: {"newQueues", time.Minute, time.Minute, "minute"},
	NewChains: {"newChains", time.Minute, time.Minute, "minute"},
}

// rateWindow is long enough for a tenant's share of a window to be taken in few
// writes, and short enough that what it may send at once is no flood.
const rateWindow = 10 * time.Second

// windows are those of all kinds.
var windows = []time.Duration{rateWindow, time.Minute}

// String is the kind as callers know it.
func (k Kind) String() string { return terms[k].name }

// Amounts are one number of each kind. As limits, 0 is none.
type Amounts [kinds]int64

// inWindow is how much a tenant has of a kind in one window.
func (a Amounts) inWindow(k Kind) int64 { return a[k] * int64(terms[k].window/terms[k].per) }

// Quota is an entry of the file.
type Quota struct {
	Name   string
	Limits Amounts
}

// Read reads the file's text.
func Read(text []byte) ([]Quota, error) {
	return file.Read(text, nil)
}

// file is what the file holds. It has no variables.
var file = assetfile.List[Quota]{
	Name: "quotas", Max: Max,
	Element: read, NameOf: func(q Quota) string { return q.Name },
}

// read reads one entry. Its error begins with a member's name.
func read(members []strictjson.Member) (q Quota, err error) {
	for _, m := range members {
		if m.Name == "name" {
			if q.Name, err = strictjson.Text(m.Value); err != nil {
				return q, fmt.Errorf("name %w", err)
			}
			continue
		}
		kind, known := kindOf(m.Name)
		if !known {
			return q, fmt.Errorf("%s is not known: there are name, messages, bytes, newQueues and newChains", m.Name)
		}
		limit, err := strictjson.Positive(m.Value)
		if err == nil && limit > maxLimit {
			err = fmt.Errorf("must be at most %d", maxLimit)
		}
		if err != nil {
			return q, fmt.Errorf("%s %w", m.Name, err)
		}
		q.Limits[kind] = int64(limit)
	}
	if q.Name != everyone {
		if err := tenant.Validate(q.Name); err != nil {
			return q, fmt.Errorf("name %w, or be * for every tenant without an entry of its own", err)
		}
	}
	if q.Limits == (Amounts{}) {
		return q, errors.New("name has an entry without a quota: write messages, bytes, newQueues or newChains")
	}
	return q, nil
}

// maxLimit keeps sums of limits far from what a number has room for.
const maxLimit = 1_000_000_000_000

func kindOf(name string) (Kind, bool) {
	for k := range kinds {
		if k.String() == name {
			return k, true
		}
	}
	return 0, false
}
