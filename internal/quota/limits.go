package quota

import (
	"encoding/json"
	"time"

	"github.com/streamsort/streamsort/internal/assetfile"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/invalid"
	"github.com/streamsort/streamsort/pkg/tenant"
)

// File is the name of the file with the quotas, which lies beside a function's program:
//
//	{"quotas": [
//	  {"name": "*", "messages": 100, "bytes": 1000000, "newQueues": 60, "newChains": 600},
//	  {"name": "acme", "messages": 5000}
//	]}
//
// An entry is that of one tenant, and the entry * that of all tenants without one of their own.
// What an entry does not name has no bound.
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
	// per is the time that a limit is for, and window how long each count goes on: a tenant may
	// take what it has for a whole window at once.
	per, window time.Duration
	// word is per, in an answer.
	word string
}{
	Messages:  {"messages", time.Second, rateWindow, "second"},
	Bytes:     {"bytes", time.Second, rateWindow, "second"},
	NewQueues: {"newQueues", time.Minute, time.Minute, "minute"},
	NewChains: {"newChains", time.Minute, time.Minute, "minute"},
}

// rateWindow is long enough for a tenant's share of a window to be taken in few writes, and short
// enough that what it may send at once is no flood.
const rateWindow = 10 * time.Second

var windows = []time.Duration{rateWindow, time.Minute}

// String is the kind as callers know it.
func (k Kind) String() string { return terms[k].name }

// Amounts are one number of each kind. As limits, 0 means no limit.
type Amounts [kinds]int64

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

// entry is a quota as it is written. The bounds keep sums of limits far from what a number has room
// for.
type entry struct {
	Name      string `json:"name"`
	Messages  int64  `json:"messages" bounds:"1..1000000000000"`
	Bytes     int64  `json:"bytes" bounds:"1..1000000000000"`
	NewQueues int64  `json:"newQueues" bounds:"1..1000000000000"`
	NewChains int64  `json:"newChains" bounds:"1..1000000000000"`
}

func read(raw json.RawMessage) (Quota, error) {
	var e entry
	if err := strictjson.Decode(raw, &e); err != nil {
		return Quota{}, err
	}
	q := Quota{e.Name, Amounts{
		Messages: e.Messages, Bytes: e.Bytes, NewQueues: e.NewQueues, NewChains: e.NewChains,
	}}
	if q.Name != everyone {
		if err := tenant.Validate(q.Name); err != nil {
			return q, invalid.New(invalid.Malformed, "name",
				err.Error()+", or be * for every tenant without an entry of its own")
		}
	}
	if q.Limits == (Amounts{}) {
		return q, invalid.New(invalid.Missing, "name",
			"has an entry without a quota: write messages, bytes, newQueues or newChains")
	}
	return q, nil
}
