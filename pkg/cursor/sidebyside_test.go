package cursor_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// By default the messages of a group are stored side by side.
func TestAGroupIsStoredSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Puts wait for each other.
		var all sync.WaitGroup
		all.Add(3)
		tables := ddb.NewMemory(cursor.Names{}.Tables()...)
		store := check.Get(
			cursor.NewStore(ddb.Func(func(ctx context.Context, r ddb.Request) (ddb.Answer, error) {
				if r.Name() == "put message" {
					all.Done()
					all.Wait()
				}
				return tables.Do(ctx, r)
			}), cursor.Names{}))
		sorter := check.Get(cursor.New(store, nil))
		results := sorter.Put(t.Context(),
			[]cursor.Message{{Queue: "a", Seq: 1}, {Queue: "a", Seq: 3}, {Queue: "b", Seq: 1}}...)
		err := results[0].Err
		check.That(t, err == nil && len(results) == 3, "%v, %v", results, err)
	})
}
