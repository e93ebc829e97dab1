package ui

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/printable"
)

// What the API answers, as far as the page shows it.

type queue struct {
	Queue                        printable.Name
	Kind, Mode, Policy, GapAfter string
	State                        string
	First, Position, MaxParked   jsonseq.Seq
	MaxAhead                     int64
	Parked                       int
	ParkedMore, GapOpen          bool
	GapSince                     time.Time
	KeyType, Settle, Late        string
	HighKey                      json.RawMessage
	LateSoFar                    int64
	Waiting                      int
	WaitingMore                  bool
	DueAt                        time.Time
}

type gap struct{ From, To jsonseq.Seq }

type gaps struct {
	Gaps []gap
	More bool
}

// row is one of a list of queues, of consumers or of chains.
type row struct {
	Queue, Tag             printable.Name
	Kind                   string
	Consumer, State, Cause string
	Also                   []string
	Since, Due, NextTry    time.Time
	Seq                    *jsonseq.Seq
	Lag                    *jsonseq.Seq
	Attempt                int
	Error, Group           printable.Name
	Delivered, Position    jsonseq.Seq
}

type rows struct {
	List []row
	Next string
}

type consumer struct {
	Queue                    printable.Name
	Consumer, State, Cause   string
	Also                     []string
	Since, NextTry           time.Time
	Seq                      *jsonseq.Seq
	Delivered, Position, Lag jsonseq.Seq
	Attempt                  int
	Error, Group             printable.Name
	Attempts                 []attempt
	Starting                 bool
	Claim                    *struct {
		State      string
		From, To   jsonseq.Seq
		LeaseUntil time.Time
		Chain      string
	}
	Blocked *struct {
		Seq   jsonseq.Seq
		Since time.Time
	}
	Paused *struct {
		Reason string
		Since  time.Time
	}
	Waiting *struct {
		Seq     jsonseq.Seq
		Since   time.Time
		Missing bool
	}
	Quarantine []struct {
		Token, State string
		From, To     jsonseq.Seq
		Since        time.Time
	}
}

type attempt struct {
	Attempt       int
	At            time.Time
	MS            *int64
	From, To      jsonseq.Seq
	By, RequestID string
	Answer        printable.Name
	Died          bool
}

type group struct {
	Consumer, State, Cause string
	Error                  printable.Name
	Count                  int
	Since                  time.Time
	Examples               []struct {
		Queue printable.Name
		Seq   jsonseq.Seq
		Error printable.Name
	}
}

type message struct {
	Seq                   jsonseq.Seq
	ID, ContentType       printable.Name
	Key, Body             json.RawMessage
	BodyBase64, Tombstone string
	Late                  bool
	Attributes            map[printable.Name]printable.Name
	EnqueuedAt            time.Time
}

// Text is a body for people: JSON, also where its white space has it come in base64, or another text; empty where it is
// neither.
func (m message) Text() string {
	if len(m.Body) > 0 {
		return string(m.Body)
	}
	text, err := base64.StdEncoding.DecodeString(m.BodyBase64)
	odd := func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\t\r\n", r) }
	if err != nil || !utf8.Valid(text) || strings.ContainsFunc(string(text), odd) {
		return ""
	}
	return string(text)
}

type operation struct {
	At                                           time.Time
	ID, Action, Consumer, Reason, Outcome, Error string
	Seq                                          json.RawMessage
	Who                                          struct{ Kind, Name string }
}

type chain struct {
	Tag                             printable.Name
	State, Reason, Idle             string
	Edges, EdgesEnded, Stamps       int64
	CreatedAt, Deadline, ProgressAt time.Time
	EndedAt                         time.Time
}

type stateCount struct {
	Count  int
	More   bool
	Oldest time.Time
}

type summary struct {
	States     map[string]stateCount
	Groups     []group
	MoreGroups bool
	Rates      *struct {
		From                                time.Time
		StoredPerSecond, DeliveredPerSecond float64
		Minutes                             []struct{ Stored, Delivered float64 }
	}
}

// get asks the API for something.
func (u *UI) get(ctx context.Context, path string, query url.Values, out any) error {
	return u.api.Call(ctx, http.MethodGet, path, query, nil, out)
}

// post has the API do something.
func (u *UI) post(ctx context.Context, path string, document, out any) error {
	body, err := json.Marshal(document)
	if err != nil {
		return err
	}
	return u.api.Call(ctx, http.MethodPost, path, nil, body, out)
}

// notFound reports whether an error says that there is no such thing.
func notFound(err error) bool {
	var problem *client.Problem
	return errors.As(err, &problem) && problem.Status == http.StatusNotFound
}

// values makes a query of names and values; those that are empty are left out.
func values(pairs ...string) url.Values {
	query := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	return query
}
