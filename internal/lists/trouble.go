package lists

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/internal/view"
)

// Row is a queue, a consumer of it, or a chain in a state.
type Row struct {
	// Tag is a chain's.
	Tag string `json:"tag,omitempty"`
	// Queue is empty where the row is about a consumer's name, or a chain.
	Queue    string        `json:"queue,omitempty"`
	Consumer string        `json:"consumer,omitempty"`
	State    trouble.State `json:"state"`
	Since    time.Time     `json:"since"`
	Age      float64       `json:"ageSeconds"`
	// Seq is the message that is missing, or that the consumer gets next, Attempt how often that was tried, and
	// Error the beginning of why it failed last.
	Seq     *jsonseq.Seq `json:"seq,omitempty"`
	Attempt int          `json:"attempt,omitempty"`
	Error   string       `json:"error,omitempty"`
}

// Rows is a page of those in a state.
type Rows struct {
	Status int    `json:"status"`
	List   []Row  `json:"list"`
	Next   string `json:"next,omitempty"`
}

// maxLooked is how many rows are read for a page at most, where some are left out.
const maxLooked = 1000

// InState answers a page of those in a state. Half a read unit for each 4 KB, about 50 rows: those
// of other consumers are read too.
func InState(ctx context.Context, c *httpapi.Call, store *trouble.Store, s Selection, now time.Time) (int, any, error) {
	a := Rows{Status: http.StatusOK, List: []Row{}}
	state, consumer := s.State, s.Consumer
	if state == trouble.CircuitOpen && consumer != "" {
		state, consumer = trouble.HeldBy(consumer), ""
	}
	size := s.Limit
	if consumer != "" {
		size = maxLooked
	}
	for place, looked := s.Place, 0; ; {
		page, next, err := store.Page(ctx, state, s.Prefix, place, size)
		if err != nil {
			return 0, nil, err
		}
		looked += len(page)
		for i, row := range page {
			if consumer != "" && row.Consumer != consumer || row.Expired(now) {
				continue
			}
			a.List = append(a.List, s.shown(c, row, now))
			if len(a.List) == s.Limit && (i < len(page)-1 || next != "") {
				a.Next = s.Token(row.Place())
				return http.StatusOK, a, nil
			}
		}
		if place = next; place == "" || looked >= maxLooked {
			a.Next = s.Token(place)
			return http.StatusOK, a, nil
		}
	}
}

// shown is a row as the caller sees it.
func (s Selection) shown(c *httpapi.Call, row trouble.Row, now time.Time) Row {
	is := Row{Consumer: row.Consumer, State: s.State, Since: row.Since, Age: max(now.Sub(row.Since).Seconds(), 0)}
	if s.of == "chains" {
		is.Tag = c.Short(row.Queue)
		return is
	}
	is.Queue, is.Attempt, is.Error = c.Short(row.Queue), row.Attempt, row.Error
	if row.Shown > 0 && c.Tenant() != "" {
		is.Error = row.Error[:min(row.Shown, len(row.Error))]
	}
	is.Error = c.Words(is.Error)
	if s.State != trouble.CircuitOpen {
		is.Seq = new(jsonseq.Seq(row.Seq))
	}
	return is
}

// Count is how many are in a state, and for how long the oldest of them is.
type Count struct {
	Count int `json:"count"`
	// More: there are more, which are not counted, and of which one may be older.
	More   bool       `json:"more,omitempty"`
	Oldest *time.Time `json:"oldest,omitempty"`
	Age    float64    `json:"ageSeconds,omitempty"`
}

// Summary is how many are in each state.
type Summary struct {
	Status int                     `json:"status"`
	States map[trouble.State]Count `json:"states"`
	// Rates are the whole stack's; nil where a tenant asks, or for the queues of a prefix.
	Rates *view.Rates `json:"rates,omitempty"`
}

// The minutes of the rates: those that are shown, and those that are a rate.
const shownMinutes, minutes = 30, 5

func rates(ctx context.Context, store *trouble.Store, now time.Time) (*view.Rates, error) {
	r := &view.Rates{To: now.UTC().Truncate(time.Minute)}
	r.From = r.To.Add(-minutes * time.Minute)
	at := r.To.Add(-shownMinutes * time.Minute)
	counted, err := store.Counted(ctx, at, r.To)
	for i, n := range counted {
		if i >= shownMinutes-minutes {
			r.Stored += float64(n.Stored) / (minutes * 60)
			r.Delivered += float64(n.Delivered) / (minutes * 60)
		}
		r.Minutes = append(r.Minutes, view.Minute{At: at, Stored: n.Stored, Delivered: n.Delivered})
		at = at.Add(time.Minute)
	}
	return r, err
}

// maxCounted is how many rows of a state are looked at.
const maxCounted = 10_000

// Summarize answers how many queues, consumers and chains are in each state, but for the chains that are open:
// these have no rows that could be counted; and the stack's rates. Half a read unit for the rates, for each state, of which all
// but one are nine where the prefix tells no tenant, and for each 4 KB, about 50 rows; of up to 10,000 rows of each.
func Summarize(ctx context.Context, c *httpapi.Call, store *trouble.Store, now time.Time) (int, any, error) {
	var asked struct {
		Prefix string `json:"prefix"`
	}
	if err := c.Parameters(&asked); err != nil {
		return 0, nil, err
	}
	prefix, err := Prefix(c, asked.Prefix)
	if err != nil {
		return 0, nil, err
	}
	a := Summary{Status: http.StatusOK, States: map[trouble.State]Count{}}
	states := slices.Concat(trouble.States, trouble.ChainStates)
	counts, errs := make([]Count, len(states)), make([]error, len(states))
	fanout.SideBySide(len(states), func(i int) { counts[i], errs[i] = count(ctx, store, states[i], prefix, now) })
	if err := errors.Join(errs...); err != nil {
		return 0, nil, err
	}
	for i, state := range states {
		a.States[state] = counts[i]
	}
	if prefix == "" {
		a.Rates, err = rates(ctx, store, now)
	}
	return http.StatusOK, a, err
}

func count(ctx context.Context, store *trouble.Store, state trouble.State, prefix string, now time.Time) (Count, error) {
	var n Count
	looked := 0 // those that have expired, and are still there, among them
	for place := ""; ; {
		page, next, err := store.Page(ctx, state, prefix, place, maxCounted-looked)
		if err != nil {
			return n, err
		}
		looked += len(page)
		for _, row := range page {
			if row.Expired(now) {
				continue
			}
			n.Count++
			if n.Oldest == nil || row.Since.Before(*n.Oldest) {
				n.Oldest, n.Age = &row.Since, max(now.Sub(row.Since).Seconds(), 0)
			}
		}
		if n.More = next != "" && looked >= maxCounted; next == "" || n.More {
			return n, nil
		}
		place = next
	}
}
