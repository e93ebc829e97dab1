package stamps_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/clause"
	"github.com/streamsort/streamsort/pkg/invalid"
	"github.com/streamsort/streamsort/pkg/xorack"
	"github.com/streamsort/streamsort/pkg/xorack/stamps"
)

// start is when every test's clock begins.
var start = time.Date(2126, 5, 6, 7, 8, 9, 0, time.UTC)

// wantError fails the test unless an operation ends in this error.
func wantError(t *testing.T, want error) func(any, error) {
	t.Helper()
	return func(got any, err error) {
		t.Helper()
		check.That(t, errors.Is(err, want), "%v, %v; want %v", got, err, want)
	}
}

// stamping is a Stamper and its Acker in memory.
type stamping struct {
	*stamps.Stamper
	acker *xorack.Acker
	t     *testing.T
	table *ddb.Memory
	now   time.Time
}

func newStamping(t *testing.T) *stamping {
	t.Helper()
	s := &stamping{t: t, now: start}
	s.table = ddb.NewMemory(xorack.Names{}.Tables()...)
	store := xorack.NewStore(clause.Layer(s.table), xorack.Names{})
	s.acker = check.Get(xorack.New(store, &xorack.Options{Now: func() time.Time { return s.now }}))
	s.Stamper = stamps.New(s.acker)
	return s
}

// want fails the test unless a state is this one.
func (s *stamping) want(stamp string, outcome xorack.Outcome) func(stamps.State, error) {
	s.t.Helper()
	return func(got stamps.State, err error) {
		s.t.Helper()
		acked := strings.Trim(stamp, "\x00") == ""
		check.That(s.t, err == nil && string(got.Stamp) == stamp && got.Acked == acked &&
			got.Outcome == outcome, "%q acked %v, %s, %v; want %q acked %v, %s", got.Stamp, got.Acked,
			got.Outcome, err, stamp, acked, outcome)
	}
}

func TestXOR(t *testing.T) {
	a, b := []byte{0x29, 0xff}, []byte{0x25, 0x0f}
	got, err := stamps.XOR(a, b)
	check.That(t, err == nil && bytes.Equal(got.Stamp, []byte{0x0c, 0xf0}) && !got.Acked,
		"%x, %v, %v", got.Stamp, got.Acked, err)
	got, err = stamps.XOR(a, b, a, b)
	check.That(t, err == nil && got.Acked, "%x, %v, %v", got.Stamp, got.Acked, err)
	check.That(t, a[0] == 0x29, "XOR changed its argument")
	for _, few := range [][][]byte{nil, {a}} {
		_, err := stamps.XOR(few...)
		wantError(t, stamps.ErrLessThanTwoBuffers)(nil, err)
	}
	_, err = stamps.XOR(a, b, []byte{1})
	wantError(t, stamps.ErrBufferLengthsUnequal)(nil, err)
}

func TestStampsOfAnyLength(t *testing.T) {
	for _, length := range []int{1, 2, 8, 64, 1000, stamps.MaxStamp} {
		s := newStamping(t)
		one, two := strings.Repeat("a", length), strings.Repeat("\x03", length)
		s.want(one, xorack.Applied)(s.Create(t.Context(), "t", []byte(one), nil))
		s.want(strings.Repeat("b", length), xorack.Applied)(s.Stamp(t.Context(), "t", []byte(two), nil))
		s.want(two, xorack.Applied)(s.Stamp(t.Context(), "t", []byte(one), nil))
		s.want(strings.Repeat("\x00", length), xorack.Ended)(s.Stamp(t.Context(), "t", []byte(two), nil))
		s.want(strings.Repeat("\x00", length),
			xorack.AlreadyDone)(s.Stamp(t.Context(), "t", []byte(two), nil))
	}
}

func TestStampsAreKnownByTheirID(t *testing.T) {
	s := newStamping(t)
	create := func() (stamps.State, error) {
		return s.Create(t.Context(), "t", []byte("a"), &stamps.Options{ID: "job"})
	}
	for range 2 {
		s.want("a", xorack.Applied)(create())
	}
	for range 3 {
		s.want("\x03", xorack.Applied)(s.Stamp(t.Context(), "t", []byte("b"), &stamps.Options{ID: "1"}))
	}
	s.want("a", xorack.Applied)(s.Stamp(t.Context(), "t", []byte("b"), &stamps.Options{ID: "2"}))
	s.want("\x00", xorack.Ended)(s.Stamp(t.Context(), "t", []byte("a"), &stamps.Options{ID: "3"}))
	// The one that ended it is answered so once; its repeat sees that it is acked.
	s.want("\x00", xorack.Applied)(s.Stamp(t.Context(), "t", []byte("a"), &stamps.Options{ID: "3"}))
	s.want("\x00", xorack.Applied)(create())
	wantError(t, xorack.ErrTagExists)(s.Create(t.Context(), "t", []byte("a"), nil))
	wantError(t, xorack.ErrTagExists)(s.Create(t.Context(), "t", []byte("b"),
		&stamps.Options{ID: "job"}))
}

// TestCreateOverStampsThatDoNotFit: what came before the chain is reported.
func TestCreateOverStampsThatDoNotFit(t *testing.T) {
	s := newStamping(t)
	s.want("b", xorack.Applied)(s.Stamp(t.Context(), "t", []byte("b"), nil))
	wantError(t, stamps.ErrBufferLengthsUnequal)(s.Create(t.Context(), "t", []byte("bb"), nil))
	wantError(t, xorack.ErrOtherKind)(s.acker.Create(t.Context(), "t", nil))
	check.OK(t, s.Delete(t.Context(), "t"))
	s.want("bb", xorack.Applied)(s.Create(t.Context(), "t", []byte("bb"), nil))
}

func TestStampErrors(t *testing.T) {
	s := newStamping(t)
	s.want("ab", xorack.Applied)(s.Create(t.Context(), "t", []byte("ab"), nil))
	wantError(t, stamps.ErrBufferLengthsUnequal)(s.Stamp(t.Context(), "t", []byte("abc"), nil))
	wantError(t, stamps.ErrZeroBufferNoOp)(s.Stamp(t.Context(), "t", []byte{0, 0}, nil))
	wantError(t, stamps.ErrZeroBufferNoOp)(s.Create(t.Context(), "u", []byte{0}, nil))
	wantError(t, xorack.ErrTagExists)(s.Create(t.Context(), "t", []byte("ab"), nil))
	wantError(t, xorack.ErrTagNotFound)(nil, s.Delete(t.Context(), "none"))
	for field, do := range map[string]func() error{
		"stamp": func() error { return check.Err(s.Stamp(t.Context(), "t", nil, nil)) },
		"tag":   func() error { return check.Err(s.Create(t.Context(), "", []byte("a"), nil)) },
		"deadline": func() error {
			return check.Err(s.Create(t.Context(), "u", []byte("a"), &stamps.Options{Deadline: -1}))
		},
		"id": func() error {
			_, err := s.Stamp(t.Context(), "t", []byte("ab"), &stamps.Options{ID: strings.Repeat("x", 1025)})
			return err
		},
	} {
		check.Is(t, check.As[*invalid.Error](t, do()).Path(), field)
	}
	_, err := s.Stamp(t.Context(), "t", make([]byte, stamps.MaxStamp+1), nil)
	check.Is(t, check.As[*invalid.Error](t, err).Field, "stamp", "too long")
	check.IsA[*invalid.Error](t, s.Delete(t.Context(), ""))
	check.Is(t, len(s.table.Items(xorack.Names{}.Tables()[0].Name)), 1)

	// Edges and stamps do not mix.
	created := check.Get(s.acker.Create(t.Context(), "edges", nil))
	wantError(t, xorack.ErrOtherKind)(s.Stamp(t.Context(), "edges", []byte("a"), nil))
	wantError(t, xorack.ErrTagExists)(s.Create(t.Context(), "edges", []byte("a"), nil))
	wantError(t, xorack.ErrOtherKind)(nil, s.Delete(t.Context(), "edges"))
	wantError(t, xorack.ErrTagExists)(s.acker.Create(t.Context(), "t", nil))
	wantError(t, xorack.ErrOtherKind)(s.acker.Done(t.Context(), xorack.Root("t", "", 0)))
	wantError(t, xorack.ErrOtherKind)(s.acker.Fail(t.Context(), xorack.Root("t", "", 0), "why"))
	wantError(t, xorack.ErrOtherKind)(s.acker.Delete(t.Context(), "t"))
	check.Get(s.acker.Fail(t.Context(), created.Root, "why"))
	wantError(t, xorack.ErrOtherKind)(s.Stamp(t.Context(), "edges", []byte("a"), nil))
}

func TestStampsFull(t *testing.T) {
	s := newStamping(t)
	big := make([]byte, stamps.MaxStamp)
	big[0] = 1
	check.Get(s.Create(t.Context(), "t", big, nil))
	for range 3 {
		check.Get(s.Stamp(t.Context(), "t", big, nil))
		s.now = s.now.Add(time.Second)
	}
	// Four times is acked, and ended; a chain that goes on is full at last.
	s.want("a", xorack.Applied)(s.Create(t.Context(), "u", []byte("a"), nil))
	for range xorack.MaxOps - 1 {
		check.Get(s.Stamp(t.Context(), "u", []byte{0x80}, nil))
	}
	wantError(t, xorack.ErrChainFull)(s.Stamp(t.Context(), "u", []byte{0x80}, nil))
}

func TestDeleteStamps(t *testing.T) {
	s := newStamping(t)
	s.want("a", xorack.Applied)(s.Create(t.Context(), "t", []byte("a"), nil))
	check.OK(t, s.Delete(t.Context(), "t"))
	wantError(t, xorack.ErrTagNotFound)(nil, s.Delete(t.Context(), "t"))
	state, err := s.Stamp(t.Context(), "t", []byte("a"), nil)
	check.That(t, err == nil && state.Outcome == xorack.AlreadyDeleted && !state.Acked,
		"stamp: %v, %v", state, err)
	s.want("b", xorack.Applied)(s.Create(t.Context(), "t", []byte("b"), nil))
	s.want("\x00", xorack.Ended)(s.Stamp(t.Context(), "t", []byte("b"), nil))
	check.OK(t, s.Delete(t.Context(), "t"))
	s.want("bb", xorack.Applied)(s.Create(t.Context(), "t", []byte("bb"), nil))
}

// TestStampsTimeOutAndAnnounce: chains of stamps have deadlines and ends as those of edges do.
func TestStampsTimeOutAndAnnounce(t *testing.T) {
	s := newStamping(t)
	s.want("a", xorack.Applied)(s.Create(t.Context(), "late", []byte("a"),
		&stamps.Options{Deadline: time.Minute}))
	s.want("a", xorack.Applied)(s.Create(t.Context(), "done", []byte("a"),
		&stamps.Options{Deadline: time.Minute}))
	s.want("\x00", xorack.Ended)(s.Stamp(t.Context(), "done", []byte("a"), nil))
	s.now = start.Add(time.Minute)
	var mu sync.Mutex
	ends := map[string]xorack.End{}
	report, err := s.acker.Sweep(t.Context(), func(_ context.Context, c xorack.Chain) error {
		mu.Lock()
		defer mu.Unlock()
		ends[c.Tag] = c.End()
		return nil
	})
	check.That(t, err == nil && report.TimedOut == 1 && report.Finished == 2 &&
		ends["late"] == xorack.TimedOut && ends["done"] == xorack.Done, "%+v, %v, %v", report, ends,
		err)
	state, err := s.Stamp(t.Context(), "late", []byte("a"), nil)
	check.That(t, err == nil && state.Outcome == xorack.AlreadyTimedOut, "%+v, %v", state, err)
}
