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
	// given is what may be used, used what was, and before what was used in the window
	// before.
	given, used, before Amounts
	// owed is what is free until something is taken, and is put on the account then.
	owed Amounts
	// spent are the kinds of which the account has no more.
	spent [kinds]bool
	// open: the counter did not answer.
	open bool
}

// without is the kind for which a request is refused, whatever there is of others.
func (s *share) without(need, limits Amounts) (kind Kind, refused bool) {
	for kind, n := range need {
		if n > 0 && s.lacks(kind, n) && (s.spent[kind] || s.used[kind]+n > limits.inWindow(Kind(kind))) {
			return Kind(kind), true
		}
	}
	return 0, false
}

// lacks reports whether n more of a kind are more than was given.
func (s *share) lacks(kind int, n int64) bool { return !s.open && s.used[kind]+n > s.given[kind] }

// toAsk is what to take for a request: nothing where there is enough of all kinds,
// and otherwise so much of each that the next ones have enough.
func (s *share) toAsk(need, limits Amounts) (ask Amounts) {
	short := false
	for kind, n := range need {
		if n == 0 || s.spent[kind] {
			continue
		}
		short = short || s.lacks(kind, n)
		enough := min(max(s.used[kind]+n, s.before[kind], 2*s.used[kind]), limits.inWindow(Kind(kind)))
		if enough > s.given[kind] {
			ask[kind] = enough - s.given[kind] + s.owed[kind]
		}
	}
	if !short {
		return Amounts{}
	}
	return ask
}

// give adds to the share what was left of what was asked for, by the account's sums
// with that in them.
func (s *share) give(ask, sums, limits Amounts) {
	for kind, n := range ask {
		if n == 0 {
			continue
		}
		left := limits.inWindow(Kind(kind)) - (sums[kind] - n)
		s.given[kind] += max(min(n, left)-s.owed[kind], 0)
		s.owed[kind] = 0
		s.spent[kind] = left <= n
	}
}

// use uses what a request needs, all of it or nothing: then the kind is the first of
// which there is not enough.
func (s *share) use(need Amounts) (kind Kind, refused bool) {
	for kind, n := range need {
		if n > 0 && s.lacks(kind, n) {
			return Kind(kind), true
		}
	}
	for kind, n := range need {
		s.used[kind] += n
	}
	return 0, false
}

// exceeded is the answer to a request for which a quota has no room until the end of
// the window; to one that is larger than a whole window's, no time to wait helps.
func exceeded(kind Kind, limits Amounts, need int64, left time.Duration) error {
	t, most := terms[kind], limits.inWindow(kind)
	detail := fmt.Sprintf("the tenant has %d %s a %s, counted in %s; nothing of the request was stored", limits[kind], t.name, t.word, t.window)
	retryAfter := max(int((left+time.Second-1)/time.Second), 1)
	if need > most {
		detail = fmt.Sprintf("the request has %d %s, and the tenant %d in %s: it has to be split; nothing of it was stored", need, t.name, most, t.window)
		retryAfter = 0
	}
	return &httpapi.Problem{
		Status: http.StatusTooManyRequests, Type: "quota", Title: "The tenant's quota is used up", Detail: detail,
		RetryAfter: retryAfter,
		More:       map[string]any{"quota": t.name, "limit": limits[kind], "per": t.word},
	}
}
