package sqlmarker_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/claimstest"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/delivery/pull"
	"github.com/streamsort/streamsort/pkg/delivery/pull/sqlmarker"
)

// answering books each message, and answers it to queue x.
func answering(ctx context.Context, tx *sql.Tx, b delivery.Batch) error {
	for _, m := range b.Messages {
		if err := b.Reply(delivery.Reply{Queue: "x", Body: fmt.Appendf(nil, "re %d", m.Seq)}); err != nil {
			return err
		}
	}
	return book(ctx, tx, b)
}

// answered checks what stands in queue x.
func (tb *tables) answered(want ...string) {
	tb.Helper()
	var got []string
	for _, m := range claimstest.Arrived(tb.T, tb.sorter())("x") {
		got = append(got, string(m.Body))
	}
	check.That(tb, slices.Equal(got, want), "queue x has %q, want %q", got, want)
}

func TestEachMessageIsAnsweredOnce(t *testing.T) {
	onEach(t, func(b *bench) {
		tb := newTables(b.T, 5)
		// Every third prepare and every second commit is not answered.
		check.OK(b, b.Consume(b.Context(), &flaky{Claims: tb.puller(0)}, "q", "c", answering, tb.options()))
		b.booked(1, 2, 3, 4, 5)
		tb.answered("re 1", "re 2", "re 3", "re 4", "re 5")
	})
}

// TestSettleSendsReplies: the process before died after its transaction, or before it.
func TestSettleSendsReplies(t *testing.T) {
	for name, committed := range map[string]bool{"committed": true, "not committed": false} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(b *bench) {
				tb := newTables(b.T, 2)
				p := tb.puller(0)
				a := tb.claim(p, b.Name()+"-a", 1)
				tb.is("prepare", delivery.OK)(p.Prepare(b.Context(), a.Held()))
				want := []string{"re 1", "re 2"}
				if committed {
					tx := b.begin()
					check.OK(b, b.Mark(b.Context(), tx, a.Batch, 0, delivery.Reply{Queue: "x", Body: []byte("of the dead")}))
					check.OK(b, tx.Commit())
					want[0] = "of the dead"
				}
				check.OK(b, b.Consume(b.Context(), p, "q", "c", answering, tb.options()))
				tb.answered(want...)
			})
		})
	}
}

// TestWhatIsNotCommittedAnswersNothing: the effect fails after it answered.
func TestWhatIsNotCommittedAnswersNothing(t *testing.T) {
	onEach(t, func(b *bench) {
		tb := newTables(b.T, 1)
		tries := 0
		effect := func(ctx context.Context, tx *sql.Tx, batch delivery.Batch) error {
			if err := answering(ctx, tx, batch); err != nil {
				return err
			}
			if tries++; tries == 1 {
				return errors.New("no")
			}
			return nil
		}
		check.OK(b, b.Consume(b.Context(), tb.puller(0), "q", "c", effect, tb.options()))
		b.booked(1)
		tb.answered("re 1")
	})
}

// TestABadReplyFailsTheTransaction: it is reported before anything is stored, and its batch is
// tried again, and blocked, as after any other error of an effect.
func TestABadReplyFailsTheTransaction(t *testing.T) {
	onEach(t, func(b *bench) {
		tb := newTables(b.T, 1)
		effect := func(ctx context.Context, tx *sql.Tx, batch delivery.Batch) error {
			if err := answering(ctx, tx, batch); err != nil {
				return err
			}
			return batch.Reply(delivery.Reply{Queue: strings.Repeat("x", 1025)})
		}
		o := tb.options()
		untilBlocked(o)
		check.Fails(b, b.Consume(b.Context(), tb.puller(0), "q", "c", effect, o), errBlocked)
		c, err := tb.store.Requests(request.Inside{}).Consumer(b.Context(), "q", "c")
		check.That(b, err == nil && c.State == delivery.Blocked && strings.Contains(c.Error, "replies[1].queue has 1025 bytes"),
			"%+v, %v", c, err)
		b.booked()
		tb.answered()
	})
}

// TestABadReplyThatIsIgnored fails its transaction all the same: the batch is not committed without
// a reply that it was to have.
func TestABadReplyThatIsIgnored(t *testing.T) {
	onEach(t, func(b *bench) {
		tb := newTables(b.T, 1)
		tries := 0
		effect := func(ctx context.Context, tx *sql.Tx, batch delivery.Batch) error {
			if tries++; tries == 1 {
				_ = batch.Reply(delivery.Reply{Queue: strings.Repeat("x", 1025)})
			}
			return answering(ctx, tx, batch)
		}
		o := tb.options()
		var failed []string
		o.Observe = func(s pull.Step) {
			if s.Err != nil {
				failed = append(failed, s.Err.Error())
			}
		}
		check.OK(b, b.Consume(b.Context(), tb.puller(0), "q", "c", effect, o))
		check.That(b, len(failed) == 1 && strings.Contains(failed[0], "replies[0].queue has 1025 bytes"),
			"failed with %q", failed)
		b.booked(1)
		tb.answered("re 1")
	})
}

// TestSettleReadsTheReplies exactly as they were given.
func TestSettleReadsTheReplies(t *testing.T) {
	onEach(t, func(b *bench) {
		seq := int64(9007199254740993)
		replies := []delivery.Reply{
			{Queue: "x", ID: "i", Body: []byte("{ \"a\": 1 }\x00\xff"), ContentType: "text/plain", Attributes: map[string]string{"k": "ä"}},
			{Queue: "n", Seq: &seq, Body: []byte{}, ContentType: "application/json"},
		}
		tx := b.begin()
		check.OK(b, b.Mark(b.Context(), tx, batchOf(claim(1, "r")), 0, replies...))
		check.OK(b, tx.Commit())
		for range 2 {
			outcome, got, err := b.Settle(b.Context(), claim(1, "r"), 0)
			if diff := cmp.Diff(replies, got); err != nil || outcome != delivery.Committed || diff != "" {
				b.Errorf("%s, %v; (-want +got):\n%s", outcome, err, diff)
			}
		}
		bad := b.Mark(b.Context(), b.begin(), batchOf(claim(2, "r")), 0, delivery.Reply{})
		check.That(b, bad != nil && strings.Contains(bad.Error(), "replies[0].queue"), "error %v", bad)
	})
}

// older makes the tables of version 1, with a marker.
func older(t *testing.T, s server) *sql.DB {
	t.Helper()
	db := s.open(t)
	for _, statement := range s.dialect.Tables {
		for _, later := range []string{`\treplies TEXT,\n`, `\trewinds [A-Z]+ NOT NULL DEFAULT 0,\n`, `\tupto [A-Z]+ NOT NULL DEFAULT -1,\n`} {
			statement = regexp.MustCompile(later).ReplaceAllString(statement, "")
		}
		check.Get(db.ExecContext(t.Context(), statement))
	}
	for _, statement := range []string{
		"INSERT INTO streamsort_marker_layout (one, version, name) VALUES (1, 1, 'old name')",
		"INSERT INTO streamsort_readers (stack, queue, consumer, floor) VALUES ('stack 1', 'q', 'c', 0)",
		"INSERT INTO streamsort_markers (stack, queue, consumer, number, request, outcome) VALUES ('stack 1', 'q', 'c', 1, 'r', 'COMMITTED')",
	} {
		check.Get(db.ExecContext(t.Context(), statement))
	}
	return db
}

// TestOlderTables are refused, and brought up to date by Install, also where another does it at the
// same time.
func TestOlderTables(t *testing.T) {
	for _, s := range servers {
		t.Run(s.name, func(t *testing.T) {
			db := older(t, s)
			for version := 3; version > 0; version-- {
				check.Get(db.ExecContext(t.Context(), fmt.Sprint("UPDATE streamsort_marker_layout SET version = ", version)))
				want := fmt.Sprintf("version %d, and this program needs 4: call Install", version)
				_, err := sqlmarker.Open(t.Context(), db, s.dialect, "stack 1")
				check.Need(t, err != nil && strings.Contains(err.Error(), want), "error %v, want %s", err, want)
			}
			var all sync.WaitGroup
			errs := make([]error, 4)
			for i := range errs {
				all.Go(func() { errs[i] = sqlmarker.Install(t.Context(), db, s.dialect) })
			}
			all.Wait()
			check.OK(t, errors.Join(errs...))
			m := check.Get(sqlmarker.Open(t.Context(), db, s.dialect, "stack 1"))
			outcome, replies, err := m.Settle(t.Context(), claim(1, "r"), 0)
			if err != nil || outcome != delivery.Committed || replies != nil || m.Name() != "old name" {
				t.Errorf("%s, %v, %v, name %s", outcome, replies, err, m.Name())
			}
		})
	}
}
