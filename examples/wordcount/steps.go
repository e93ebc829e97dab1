package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode"

	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// deadline is how long a database may take: the retries of all its words, and more.
const deadline = time.Hour

// steps are the functions. Each may run several times for the same work, after a crash or a retry:
// it then ends the same edge, starts the same edges, and passes on the same work, which changes
// nothing in the chain.
type steps struct {
	acker *xorack.Acker
	// next passes work to the next function.
	next   func(ctx context.Context, work []byte) error
	counts *counts
}

// database is the body of a message.
type database struct {
	Files []file `json:"files"`
}

type file struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// fileWork and wordWork are what one function passes to the next: the work, and its edge, as a
// token.
type fileWork struct {
	Edge xorack.Edge `json:"edge"`
	file
}

type wordWork struct {
	Edge xorack.Edge `json:"edge"`
	Word string      `json:"word"`
}

// databases is called with each queue's databases, in order.
func (s *steps) databases(ctx context.Context, batch delivery.Batch) error {
	for _, m := range batch.Messages {
		if err := s.database(ctx, m); err != nil {
			return fmt.Errorf("database %d: %w", m.Seq, err)
		}
	}
	return nil
}

// database creates the chain of a message's tree, which has its place in the queue as tag, and
// passes on the files. The root edge is the database itself.
func (s *steps) database(ctx context.Context, m cursor.Message) error {
	var d database
	if err := json.Unmarshal(m.Body, &d); err != nil {
		return delivery.Permanent(fmt.Errorf("body is not a database: %w", err))
	}
	tag := fmt.Sprintf("%s/%d", m.Queue, m.Seq)
	created, err := s.acker.Create(ctx, tag, &xorack.CreateOptions{Deadline: deadline})
	if err != nil {
		return err
	}
	observe(ctx, step{"create", "", created.Root},
		xorack.Result{Outcome: created.Outcome, Chain: created.Chain})
	return grow(ctx, s, step{"database", "", created.Root}, d.Files,
		func(edge xorack.Edge, f file) any {
			return fileWork{edge, f}
		})
}

// file passes on a file's words. Which words there are follows from the file alone, so a repeat
// starts the same edges.
func (s *steps) file(ctx context.Context, w fileWork) error {
	return grow(ctx, s, step{"file", w.Name, w.Edge}, wordsOf(w.Text),
		func(edge xorack.Edge, word string) any {
			return wordWork{edge, word}
		})
}

// word counts a word. First the effect, then the edge's end: who dies between them counts again,
// under the same edge, which is no second time.
func (s *steps) word(ctx context.Context, w wordWork) error {
	attempt, err := s.counts.count(ctx, w.Edge, w.Word)
	if err != nil {
		slog.WarnContext(ctx, "failed", "tag", w.Edge.Tag(), "name", w.Word,
			"attempt", attempt, "error", err)
		return err
	}
	return grow(ctx, s, step{"word", w.Word, w.Edge}, nil, func(xorack.Edge, string) any {
		return nil
	})
}

// step is a node of the tree: of which kind, its name and its edge.
type step struct {
	kind, name string
	edge       xorack.Edge
}

// grow ends a step's edge and starts one edge for each child, in one write, and then passes on the
// children. Dying between the two leaves edges without work; the repeat of the step passes them on.
func grow[T any](ctx context.Context, s *steps, at step, children []T,
	work func(xorack.Edge, T) any) error {
	edges := at.edge.Children(len(children))
	result, err := s.acker.Done(ctx, at.edge, edges...)
	if err != nil {
		return err
	}
	observe(ctx, at, result)
	if result.Chain.End() != xorack.Open {
		return nil // the tree has ended: nothing is left to do
	}
	for i, child := range children {
		payload, err := json.Marshal(work(edges[i], child))
		if err != nil {
			return err
		}
		if err := s.next(ctx, payload); err != nil {
			return fmt.Errorf("pass on child %d: %w", i, err)
		}
	}
	return nil
}

// observe logs what a step made of the chain.
func observe(ctx context.Context, at step, r xorack.Result) {
	slog.InfoContext(ctx, "step", "kind", at.kind, "name", at.name, "edge", at.edge, "tag",
		r.Chain.Tag, "outcome", string(r.Outcome),
		"edges", r.Chain.Edges, "ended", r.Chain.EdgesEnded(), "n", r.Chain.Sum.String())
}

// wordsOf are a text's words, in small letters.
func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && r != '\''
	})
}

// ending is what the announcement says of a chain that has ended.
type ending struct {
	ID         string  `json:"id"`
	Kind       string  `json:"kind"`
	Tag        string  `json:"tag"`
	Outcome    string  `json:"outcome"`
	Reason     string  `json:"reason"`
	Edges      int64   `json:"edges"`
	EdgesEnded int     `json:"edgesEnded"`
	Seconds    float64 `json:"ageSeconds"`
}

// end is notified of each chain's end, at least once, and each time under the same id. Here is
// where work goes that must wait until all words are counted. It is notified of every chain in the
// table, also of those of other programs, and of the sweep's announcements of queues and consumers,
// which are none of its business.
func end(ctx context.Context, e ending) error {
	if !strings.HasPrefix(e.Kind, "chain.") {
		return nil
	}
	slog.InfoContext(ctx, "end", "id", e.ID, "tag", e.Tag, "outcome", e.Outcome, "reason", e.Reason,
		"edges", e.Edges, "ended", e.EdgesEnded, "seconds", e.Seconds)
	return nil
}
