package cursor_test

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/ddbtest"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/table"
)

// freshNames are tables that no other test has, with keys named otherwise.
func freshNames() cursor.Names {
	suffix := ddbtest.Suffix()
	return cursor.Names{
		Messages: "messages" + suffix, Cursors: "cursors" + suffix, Trouble: "trouble" + suffix,
		Arrivals: "arrivals" + suffix,
		QueueKey: "author", SeqKey: "number",
	}
}

func tablesOf(names cursor.Names) []table.Definition {
	return append(names.Tables(), names.ArrivalsTable())
}

func storeOn(t testing.TB, engine ddb.Engine, names cursor.Names) *cursor.Store {
	t.Helper()
	return check.Get(cursor.NewStore(engine, names))
}

// freshStore returns a Store on tables of its own.
func freshStore(t testing.TB, kind ddbtest.Kind) *cursor.Store {
	t.Helper()
	names := freshNames()
	return storeOn(t, ddbtest.Open(t, kind, tablesOf(names)...), names)
}

// freshTables makes new tables on a server, and returns the Store on them that a client with these
// options makes.
func freshTables(t testing.TB, kind ddbtest.Kind, options *dynamo.Options) *cursor.Store {
	t.Helper()
	names := freshNames()
	ddbtest.Open(t, kind, tablesOf(names)...)
	options.Endpoint = ddbtest.Endpoint(t, kind)
	client := check.Get(dynamo.New(options))
	store, err := cursor.NewDynamo(client, names)
	check.OK(t, err)
	return store
}

// shared are the Stores that tests share which have queues of their own.
var shared = struct {
	sync.Mutex
	stores map[ddbtest.Kind]*cursor.Store
}{stores: map[ddbtest.Kind]*cursor.Store{}}

// onEach runs a test on every engine there is, with the name of a queue that no other test has.
func onEach(t *testing.T, test func(t *testing.T, s *cursor.Store, q string)) {
	t.Helper()
	ddbtest.Each(t, func(t *testing.T, kind ddbtest.Kind) {
		shared.Lock()
		if shared.stores[kind] == nil {
			shared.stores[kind] = freshStore(t, kind)
		}
		s := shared.stores[kind]
		shared.Unlock()
		test(t, s, "q"+ddbtest.Suffix())
	})
}

// onCursor is [onEach] with a queue that is there, and its cursor.
func onCursor(t *testing.T, test func(*testing.T, *cursor.Store, string, cursor.Cursor)) {
	t.Helper()
	onEach(t, func(t *testing.T, s *cursor.Store, q string) {
		want := newCursor(q)
		create(t, s, want)
		test(t, s, q, want)
	})
}

// at is a moment that all parts of the tables keep exactly. It is far ahead: a message whose time
// has come may be deleted at any moment.
var at = time.Date(2126, 3, 4, 5, 6, 7, 0, time.UTC)

func settings() cursor.Settings {
	return cursor.Settings{
		First: 1, Policy: cursor.PolicySkip, GapAfter: 1500 * time.Millisecond, MaxAhead: 77,
		Mode: cursor.ModeAsync,
	}
}

func newCursor(queue string) cursor.Cursor {
	return cursor.Cursor{Queue: queue, Settings: settings(), MovedAt: at, Announced: -1}
}

func wholeMessage(queue string, seq int64) cursor.Message {
	return cursor.Message{
		Queue: queue, Seq: seq, ID: "id", Body: []byte{0, 1, 0xff}, ContentType: "text/plain",
		Attributes: map[string]string{"a": "1", "empty": ""}, EnqueuedAt: at,
		ExpiresOn: at.Add(time.Hour),
		Digest:    []byte("0123456789abcdef"), Op: []byte("12345678"), Trace: traceA,
	}
}

// same fails the test where two values differ.
func same[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	check.Is(t, cmp.Diff(want, got, cmp.Comparer(sameBytes)), "", what)
}

// sameBytes compares bytes at once: cmp takes seconds for a body, one by one.
func sameBytes(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

// gives checks what a change answers: the state after it, and whether it was made.
func gives[T any](t testing.TB, what string, want T, done bool) func(T, bool, error) {
	t.Helper()
	return func(got T, made bool, err error) {
		t.Helper()
		check.OK(t, err)
		same(t, what, got, want)
		same(t, what+", made", made, done)
	}
}

// refuses checks that an error is about bad input in a field.
func refuses(t testing.TB, what string, err error, field string) {
	t.Helper()
	var wrong *cursor.InvalidError
	check.Need(t, errors.As(err, &wrong) && (wrong.Field == field || wrong.Path() == field),
		"%s: error %v, want one of the field %s", what, err, field)
}

func create(t *testing.T, s *cursor.Store, c cursor.Cursor) {
	t.Helper()
	same(t, "created", check.Get(s.Inside().CreateCursor(t.Context(), c)), c)
}

func put(t *testing.T, s *cursor.Store, messages ...cursor.Message) {
	t.Helper()
	for _, m := range messages {
		same(t, "put", check.Get(s.Inside().PutMessage(t.Context(), m)), m)
	}
}

func standing(t *testing.T, s *cursor.Store, queue string) cursor.Cursor {
	t.Helper()
	return check.Get(s.Inside().Cursor(t.Context(), queue, true))
}

// hundred is a message with a body of 100 bytes.
func hundred(seq int64) cursor.Message {
	return cursor.Message{Queue: "octo-org/octo-repo", Seq: seq,
		Body: []byte(fmt.Sprintf("%-100d", seq))}
}
