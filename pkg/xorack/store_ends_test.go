package xorack_test

import (
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/xorack"
)

func testExtend(t *testing.T, s *xorack.Store) {
	want := create(t, s, newChain("extend a"))
	later := at.Add(2 * time.Hour)
	want.Deadline = later
	answers(t, s, "extend", want, true)(s.Extend(t.Context(), "extend a", inc, later))
	answers(t, s, "repeated", want, false)(s.Extend(t.Context(), "extend a", inc, later))
	answers(t, s, "earlier", want, false)(s.Extend(t.Context(), "extend a", inc, at))
	answers(t, s, "of a stranger", want, false)(s.Extend(t.Context(), "extend a", stranger, later.Add(time.Hour)))
	ended, _ := check.Get2(s.Fail(t.Context(), failure("extend a", 1)))
	answers(t, s, "after the end", ended, false)(s.Extend(t.Context(), "extend a", inc, later.Add(time.Hour)))

	create(t, s, newChain("extend d"))
	done, _ := check.Get2(s.Apply(t.Context(), work("extend d", -100, 1)))
	answers(t, s, "when it is done", done, false)(s.Extend(t.Context(), "extend d", inc, later))

	orphan, _ := check.Get2(s.Apply(t.Context(), work("extend b", 1, 1)))
	answers(t, s, "not created", orphan, false)(s.Extend(t.Context(), "extend b", inc, later))
	answers(t, s, "nothing", xorack.Chain{}, false)(s.Extend(t.Context(), "extend c", inc, later))
}

func overdue(tag string, now time.Time) xorack.Overdue {
	return xorack.Overdue{Tag: tag, Incarnation: inc, Reason: "late", Now: now}
}

func testTimeOut(t *testing.T, s *xorack.Store) {
	want := create(t, s, newChain("time out a"))
	before, over := at.Add(time.Hour-time.Millisecond), at.Add(time.Hour)
	answers(t, s, "too early", want, false)(s.TimeOut(t.Context(), overdue("time out a", before)))
	other := overdue("time out a", over)
	other.Incarnation = stranger
	answers(t, s, "of a stranger", want, false)(s.TimeOut(t.Context(), other))
	want.Recorded, want.Reason, want.EndedAt = xorack.TimedOut, "late", over
	answers(t, s, "time out", want, true)(s.TimeOut(t.Context(), overdue("time out a", over)))
	answers(t, s, "repeated", want, false)(s.TimeOut(t.Context(), overdue("time out a", over)))

	want = create(t, s, newChain("time out b"))
	idle := overdue("time out b", at.Add(time.Minute))
	idle.Seen = at.Add(-time.Millisecond)
	answers(t, s, "progress meanwhile", want, false)(s.TimeOut(t.Context(), idle))
	idle.Seen = at
	want.Recorded, want.Reason, want.EndedAt = xorack.TimedOut, "late", idle.Now
	answers(t, s, "no progress", want, true)(s.TimeOut(t.Context(), idle))

	create(t, s, newChain("time out c"))
	done, _ := check.Get2(s.Apply(t.Context(), work("time out c", -100, 1)))
	answers(t, s, "after the end", done, false)(s.TimeOut(t.Context(), overdue("time out c", over)))
	orphan, _ := check.Get2(s.Apply(t.Context(), work("time out d", 1, 1)))
	answers(t, s, "not created", orphan, false)(s.TimeOut(t.Context(), overdue("time out d", over)))
	idle = overdue("time out d", over)
	idle.Seen = orphan.Seen
	answers(t, s, "not created, without progress", orphan, false)(s.TimeOut(t.Context(), idle))

	stamped := put(t, s, newStamped("time out e", "mark01aa"))
	stamped.Recorded, stamped.Reason, stamped.EndedAt = xorack.TimedOut, "late", over
	answers(t, s, "of stamps", stamped, true)(s.TimeOut(t.Context(), overdue("time out e", over)))
}

func testPostpone(t *testing.T, s *xorack.Store) {
	want := create(t, s, newChain("postpone a"))
	from, to := want.Due, at.Add(time.Hour)
	answers(t, s, "from another time", want, false)(s.Postpone(t.Context(), "postpone a", inc, at, to))
	answers(t, s, "of a stranger", want, false)(s.Postpone(t.Context(), "postpone a", stranger, from, to))
	want.Due = to
	answers(t, s, "postpone", want, true)(s.Postpone(t.Context(), "postpone a", inc, from, to))
	answers(t, s, "repeated", want, false)(s.Postpone(t.Context(), "postpone a", inc, from, to))
	ended, _ := check.Get2(s.Fail(t.Context(), failure("postpone a", 1)))
	answers(t, s, "after the end", ended, false)(s.Postpone(t.Context(), "postpone a", inc, ended.Due, to))
	create(t, s, newChain("postpone c"))
	done, _ := check.Get2(s.Apply(t.Context(), work("postpone c", -100, 1)))
	answers(t, s, "when it is done", done, false)(s.Postpone(t.Context(), "postpone c", inc, from, to))
	orphan, _ := check.Get2(s.Apply(t.Context(), work("postpone b", 1, 1)))
	answers(t, s, "not due", orphan, false)(s.Postpone(t.Context(), "postpone b", inc, from, to))
}

func testPutOff(t *testing.T, s *xorack.Store) {
	create(t, s, newChain("put off a"))
	want, _ := check.Get2(s.Fail(t.Context(), failure("put off a", 1)))
	from, to := want.Due, want.Due.Add(time.Hour)
	answers(t, s, "from another time", want, false)(s.PutOff(t.Context(), "put off a", to, from))
	want.Due = to
	answers(t, s, "put off", want, true)(s.PutOff(t.Context(), "put off a", from, to))
	answers(t, s, "repeated", want, false)(s.PutOff(t.Context(), "put off a", from, to))
	orphan, _ := check.Get2(s.Apply(t.Context(), work("put off b", 1, 1)))
	answers(t, s, "not due", orphan, false)(s.PutOff(t.Context(), "put off b", from, to))
}

func testSeal(t *testing.T, s *xorack.Store) {
	expires := at.Add(48 * time.Hour)
	open := create(t, s, newChain("seal a"))
	answers(t, s, "an open chain", open, false)(s.Seal(t.Context(), "seal a", inc, at, expires))
	want, _ := check.Get2(s.Apply(t.Context(), work("seal a", -100, 1)))
	answers(t, s, "of a stranger", want, false)(s.Seal(t.Context(), "seal a", stranger, at, expires))
	want.Recorded, want.EndedAt, want.Due, want.ExpiresOn = xorack.Done, at.Add(time.Minute), time.Time{}, expires
	answers(t, s, "done", want, true)(s.Seal(t.Context(), "seal a", inc, at.Add(time.Minute), expires))
	answers(t, s, "repeated", want, false)(s.Seal(t.Context(), "seal a", inc, at, expires.Add(time.Hour)))

	want = failed(create(t, s, newChain("seal b")), 1)
	check.Get2(s.Fail(t.Context(), failure("seal b", 1)))
	want.Due, want.ExpiresOn = time.Time{}, expires
	answers(t, s, "failed", want, true)(s.Seal(t.Context(), "seal b", inc, at, expires))

	// Zero, and not created: nothing has ended.
	check.Get2(s.Apply(t.Context(), work("seal c", -5, 1)))
	orphan, _ := check.Get2(s.Apply(t.Context(), work("seal c", 5, 2)))
	answers(t, s, "an orphan at zero", orphan, false)(s.Seal(t.Context(), "seal c", inc, at, expires))
	same(t, "end", orphan.End(), xorack.Open)
}

func testSettle(t *testing.T, s *xorack.Store) {
	now := at.Add(time.Hour)
	want := put(t, s, newStamped("settle a", "mark01aa", "mark02aa"))
	same(t, "end", want.End(), xorack.Open)
	before, other := want, want
	before.Stamps = want.Stamps[:1]
	answers(t, s, "one stamp too few", want, false)(s.Settle(t.Context(), before, now))
	other.Incarnation = stranger
	answers(t, s, "of a stranger", want, false)(s.Settle(t.Context(), other, now))
	want.Recorded, want.EndedAt = xorack.Done, now
	answers(t, s, "settle", want, true)(s.Settle(t.Context(), want, now))
	answers(t, s, "repeated", want, false)(s.Settle(t.Context(), want, now))
	want.Due, want.ExpiresOn = time.Time{}, at.Add(48*time.Hour)
	answers(t, s, "sealed", want, true)(s.Seal(t.Context(), "settle a", inc, at, at.Add(48*time.Hour)))
}
