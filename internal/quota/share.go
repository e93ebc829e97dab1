package quota

import (
	"fmt"
	"net/http"
	"time"

	"github.com/streamsort/streamsort/internal/httpapi"
)

// share is what a process has of one account in one window.
type share struct {
	window Window
	// given is what may be used, used what was, and before what was used in the window before.
	given, used, before Amounts
	// owed is what is free until something is taken, and is put on the account then.
	owed Amounts
	// there is the account as this process last saw it; seen tells that it did.
	there Account
	seen  bool
	// open: the counter did not answer.
	open bool
}

func (s *share) next(w Window, limits Amounts) *share {
	next := &share{window: w, there: s.there, seen: s.seen}
	if s.window.end().Equal(w.Start) {
		next.before = s.used
	}
	for kind := range kinds {
		next.given[kind] = limits.inWindow(kind) / 100
	}
	next.owed = next.given
	return next
}

// lacks reports whether n more of a kind are more than was given.
func (s *share) lacks(kind Kind, n int64) bool {
	return n > 0 && !s.open && s.used[kind]+n > s.given[kind]
}

// taken is how much of a kind the account has taken of this window, as this process last saw it.
func (s *share) taken(kind Kind, limits Amounts) int64 { return s.there.in(s.window, limits)[kind] }

// unused is what was taken of a kind for this process, and is not used.
func (s *share) unused(kind Kind) int64 {
	return max(s.given[kind]-s.owed[kind]-s.used[kind], 0)
}

// asks reports whether a request needs more than was given; and if so, the first kind that it lacks
// and of which nothing is left, neither in the account nor here.
func (s *share) asks(need, limits Amounts) (asks bool, kind Kind, refused bool) {
	for kind := range kinds {
		if !s.lacks(kind, need[kind]) {
			continue
		}
		if asks = true; s.taken(kind, limits)-s.unused(kind) >= limits.inWindow(kind) {
			return true, kind, true
		}
	}
	return asks, 0, false
}

// ask is what to take from the account for a request: so much of each kind that the next requests
// have enough, as far as the window has it, and what this one lacks in any case. It is only taken
// of an account that has taken no more than most.
func (s *share) ask(need, limits Amounts) (take, most Amounts) {
	for kind, n := range need {
		kind, limit := Kind(kind), limits.inWindow(Kind(kind))
		if n == 0 {
			continue
		}
		has := s.given[kind] - s.owed[kind]
		left, lack := max(limit-s.taken(kind, limits), 0), s.used[kind]+n-has
		if s.lacks(kind, n) && lack > left {
			take[kind], most[kind] = lack, limit-1+s.unused(kind) // a debt
			continue
		}
		enough := min(max(s.before[kind], 2*s.used[kind]), limit) - has
		take[kind] = max(min(max(enough, lack), left), 0)
		most[kind] = limit - take[kind]
	}
	return take, most
}

// at is the start of the window that is taken from: this one, or the next where that has begun by
// another's clock.
func (s *share) at() time.Time {
	if s.there.Window.Equal(s.window.end()) {
		return s.there.Window
	}
	return s.window.Start
}

func (s *share) give(take Amounts) {
	for kind, n := range take {
		if n > 0 {
			s.given[kind] += max(n-s.owed[kind], 0)
			s.owed[kind] = 0
		}
	}
}

// use uses what a request needs, all of it or nothing: then the kind is the first of which there is
// not enough.
func (s *share) use(need Amounts) (kind Kind, refused bool) {
	for kind := range kinds {
		if s.lacks(kind, need[kind]) {
			return kind, true
		}
	}
	for kind, n := range need {
		s.used[kind] += n
	}
	return 0, false
}

// exceeded is the answer to a request for which a quota has nothing left: it may come again in the
// first window for which no debt is left.
func (s *share) exceeded(kind Kind, limits Amounts, now time.Time) error {
	t, passed := terms[kind], max(s.taken(kind, limits)/limits.inWindow(kind), 1)
	left := s.at().Add(time.Duration(passed) * s.window.Length).Sub(now)
	return &httpapi.Problem{
		Status: http.StatusTooManyRequests, Type: "quota", Title: "The tenant's quota is used up",
		Detail: fmt.Sprintf(
			"the tenant has %d %s a %s, counted in %s; nothing of the request was stored", limits[kind],
			t.name, t.word, t.window),
		RetryAfter: max(int((left+time.Second-1)/time.Second), 1),
		More:       map[string]any{"quota": t.name, "limit": limits[kind], "per": t.word},
	}
}
