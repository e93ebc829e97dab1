package announce_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/announce"
	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// TestListed: an end that is no good is listed once it is announced, and it stays due until it is.
func TestListed(t *testing.T) {
	definition := trouble.Definition(trouble.DefaultName)
	memory, down := ddb.NewMemory(definition), false
	errDown := errors.New("down")
	rows := trouble.NewStore(ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
		if down {
			return ddb.Answer{}, errDown
		}
		return memory.Do(ctx, r)
	}), definition)
	refused, announced := error(nil), 0
	end := announce.Listed(rows, time.Hour, func(context.Context, xorack.Chain) error {
		announced++
		return refused
	})
	c := failedChain()
	is := func(what string, c xorack.Chain, want error, listed int) {
		t.Helper()
		if err := end(t.Context(), c); !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("%s: %v", what, err)
		}
		check.Is(t, len(memory.Items(definition.Name)), listed, what)
	}
	refused = errDown
	is("nobody took it", c, errDown, 0)
	refused, down = nil, true
	is("the table is away", c, errDown, 0)
	check.That(t, announced == 2, "it was announced %d times: it waits for the list", announced)
	down = false
	is("failed", c, nil, 1)
	is("again", c, nil, 1)
	want := trouble.Row{State: trouble.Failed, Queue: c.Tag, Since: c.EndedAt, N: c.EndedAt.UnixMilli(), ExpiresOn: c.EndedAt.Add(time.Hour)}
	if row, found, err := rows.Row(t.Context(), trouble.Failed, c.Tag, ""); err != nil || !found || row != want {
		t.Errorf("%+v, %v, want %+v", row, err, want)
	}
	for how, listed := range map[xorack.End]int{xorack.Done: 1, xorack.Deleted: 1, xorack.TimedOut: 2} {
		other := c
		other.Tag, other.Recorded = string(how), how
		is(string(how), other, nil, listed)
		_ = rows.Delete(t.Context(), trouble.Row{State: trouble.TimedOut, Queue: other.Tag, N: want.N})
	}
	other := announce.Listed(nil, 0, func(context.Context, xorack.Chain) error { return nil })
	if err := other(t.Context(), c); err != nil {
		t.Errorf("without a table: %v", err)
	}
}
