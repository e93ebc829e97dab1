package ui

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/streamsort/streamsort/internal/client"
	"github.com/streamsort/streamsort/internal/printable"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// elsewhere is the screen to which a search leads at once.
type elsewhere string

func (e elsewhere) Error() string { return "at " + string(e) }

// lookedThrough is how many of a queue's last messages are searched for an id or a key: the API has
// no index of them. It is what the API answers with at once.
const lookedThrough = 1000

type found struct {
	Text   string
	Queues listed
	Chain  printable.Name
	// Among is the queue whose last messages were searched, and Looked how many of them.
	Among  printable.Name
	Looked int
}

// search finds a queue by its name, or by how that begins; a message as QUEUE@SEQ, or as QUEUE@ID
// or QUEUE@KEY among the last of its queue; a chain by its tag. Where one is meant, it leads there.
func (u *UI) search(ctx context.Context, query url.Values) (any, error) {
	text := strings.TrimSpace(query.Get("q"))
	if text == "" {
		return nil, badQuery("Nothing is asked for: type the name of a queue, or how it begins, or a message as QUEUE@SEQ.")
	}
	f := found{Text: printable.Text(text)}
	if is, err := u.isQueue(ctx, text); err != nil || is {
		return nil, cmp.Or(err, error(elsewhere(link("queue", "queue", text))))
	}
	if cut := strings.LastIndex(text, "@"); cut > 0 {
		name, what := text[:cut], text[cut+1:]
		is, err := u.isQueue(ctx, name)
		if err != nil {
			return nil, err
		}
		if is {
			return u.among(ctx, f, name, what)
		}
	}
	var err error
	if f.Queues, err = u.list(ctx, "queues",
		client.Query("prefix", text, "after", query.Get("after"))); err != nil {
		return nil, err
	}
	if f.Queues.Next != "" {
		next, _ := url.Parse(f.Queues.Next)
		f.Queues.Next = link("search", "q", text, "after", next.Query().Get("after"))
	}
	f.Queues.First = link("search", "q", text)
	if list := f.Queues.List; len(list) == 1 && f.Queues.Next == "" {
		return nil, elsewhere(link("queue", "queue", list[0].Queue))
	}
	slices.SortFunc(f.Queues.List, func(a, b row) int { return cmp.Compare(a.Queue, b.Queue) })
	switch err := u.get(ctx, "/chains", client.Query("tag", text), &struct{}{}); {
	case err == nil && len(f.Queues.List) == 0:
		return nil, elsewhere(link("chain", "tag", text))
	case err == nil:
		f.Chain = printable.Name(text)
	case !refused(err):
		return nil, err
	}
	return f, nil
}

func refused(err error) bool {
	return slices.Contains([]int{http.StatusNotFound, http.StatusBadRequest}, statusOf(err))
}

func (u *UI) isQueue(ctx context.Context, name string) (bool, error) {
	err := u.get(ctx, "/queues", client.Query("queue", name), &struct{}{})
	if refused(err) {
		return false, nil
	}
	return err == nil, err
}

// among leads to a message of a queue: by its seq, or by its id or key where it is one of the last.
func (u *UI) among(ctx context.Context, f found, name, what string) (any, error) {
	if _, err := cursor.ParseSeq(what); err == nil {
		return nil, elsewhere(link("message", "queue", name, "seq", what))
	}
	var q queue
	if err := u.get(ctx, "/queues", client.Query("queue", name), &q); err != nil {
		return nil, err
	}
	last, err := u.last(ctx, q, lookedThrough)
	if err != nil {
		return nil, err
	}
	for _, m := range last {
		if string(m.ID) == what || keyIs(m, what) {
			return nil, elsewhere(link("message", "queue", name, "seq", m.Seq))
		}
	}
	f.Among, f.Looked = printable.Name(name), len(last)
	return f, nil
}

// keyIs reports whether a message has a key: as JSON, or the text in it.
func keyIs(m message, what string) bool {
	var text string
	return len(m.Key) > 0 &&
		(bytes.Equal(m.Key, []byte(what)) || json.Unmarshal(m.Key, &text) == nil && text == what)
}
