package lists

import (
	"context"
	"strings"

	"github.com/streamsort/streamsort/internal/margin"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// Walked are queues of a page of a list of all.
type Walked struct {
	Queues []cursor.Cursor
	// Next is the token of the page behind it; empty after the last.
	Next string
}

// scanned is how many cursors are read at once where some are left out.
const scanned = 1000

// Walk reads a page of all queues whose names begin with the selection's prefix, in no order, but
// for those that were erased, for half of the time that the context has left. Half a read unit for
// about 35 cursors, whatever their names are.
//
// A page ends with a queue that it shows: a token has no name in it that its reader must not see.
func Walk(ctx context.Context, sorter *cursor.Sorter, s Selection) (Walked, error) {
	var w Walked
	size, goOn := s.Limit, margin.Half(ctx)
	if s.Prefix != "" {
		size = scanned
	}
	for place := s.Place; ; {
		page, err := sorter.Queues(ctx, place, size)
		if err != nil {
			return w, err
		}
		for i, it := range page.Cursors {
			if !strings.HasPrefix(it.Queue, s.Prefix) || it.Erased() {
				continue
			}
			w.Queues = append(w.Queues, it)
			if len(w.Queues) == s.Limit && (i < len(page.Cursors)-1 || page.Next != "") {
				w.Next = s.Token(it.Queue)
				return w, nil
			}
		}
		switch place = page.Next; {
		case place == "":
			return w, nil
		case goOn():
		case len(w.Queues) == 0:
			return w, invalid.New(invalid.TooLarge, "prefix",
				"begins none of the queues that there was time for: ask for a state")
		default:
			w.Next = s.Token(w.Queues[len(w.Queues)-1].Queue)
			return w, nil
		}
	}
}
