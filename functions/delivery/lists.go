package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/streamsort/streamsort/internal/httpapi"
	"github.com/streamsort/streamsort/internal/lists"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/internal/view"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// list lists consumers of many queues: those in a state, or those of as many queues as a page has.
func (s *service) list(ctx context.Context, c *httpapi.Call) (int, any, error) {
	asked, err := lists.Read(c, lists.Consumers)
	if err = cmp.Or(err, oneConsumer(&asked.Consumer)); err != nil {
		return 0, nil, err
	}
	if asked.State != "" {
		return lists.InState(ctx, c, s.trouble, asked, s.now(), s.verify(c.Scope, asked.State))
	}
	walked, err := lists.Walk(ctx, s.sorter, asked)
	if err != nil {
		return 0, nil, err
	}
	a, err := s.ofQueues(ctx, c, asked, walked)
	return http.StatusOK, a, err
}

// maxListBytes is how long a list is: Lambda's answers have 6 MB, and the rest is for what cannot
// be read.
const maxListBytes = 4 << 20

// ofQueues lists the consumers of the queues of a page, which ends earlier where the answer grows
// too long.
func (s *service) ofQueues(ctx context.Context, c *httpapi.Call, asked lists.Selection,
	walked lists.Walked) (view.Rows, error) {
	a := view.Rows{Status: http.StatusOK, List: []view.Head{}, Next: walked.Next}
	var unreadable []string
	left := maxListBytes
	for i, it := range walked.Queues {
		consumers, err := s.deliverer.Inside(request.Inside{}).Beside(ctx, it)
		if err != nil && !errors.Is(err, delivery.ErrUnreadable) {
			return a, err
		}
		consumers = slices.DeleteFunc(consumers, func(is delivery.Status) bool {
			return asked.Consumer != "" && is.Name != asked.Consumer
		})
		known, failed := s.know(ctx, consumers)
		if failed != nil {
			return a, failed
		}
		of := make([]view.Head, len(consumers))
		for i, is := range consumers {
			of[i] = s.head(c.Scope, is, known[i])
		}
		text, _ := json.Marshal(of) // texts and numbers can always be written
		if left -= len(text); left < 0 && i > 0 {
			a.Next = asked.Token(walked.Queues[i-1].Queue)
			break
		}
		if left < 0 {
			of, err = nil, errTooMany
		}
		if err != nil {
			unreadable = append(unreadable, fmt.Sprintf("queue %q: %s", c.Short(it.Queue), err))
		}
		a.List = append(a.List, of...)
	}
	a.Unreadable = strings.Join(unreadable, "\n")
	return a, nil
}

// errTooMany is why the consumers of a queue are left out that would be an answer of their own.
var errTooMany = errors.New(
	"it has more consumers than an answer has room for: ask for each of them")
