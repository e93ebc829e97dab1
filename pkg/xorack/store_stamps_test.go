package xorack_test

import (
	"testing"
	"time"

	"github.com/streamsort/streamsort/pkg/xorack"
)

func bytesOf(texts ...string) [][]byte {
	var all [][]byte
	for _, text := range texts {
		all = append(all, []byte(text))
	}
	return all
}

func testStamps(t *testing.T, s *xorack.Store) {
	want := create(t, s, newStamped("stamps a", "mark05aa"))
	want.Stamps, want.Seen = bytesOf("mark01bb", "mark05aa"), at.Add(time.Minute)
	answers(t, s, "stamp", want, true)(s.AddStamp(t.Context(), stamp("stamps a", "mark01bb")))
	answers(t, s, "repeated", want, true)(s.AddStamp(t.Context(), stamp("stamps a", "mark01bb")))
	want.Stamps = bytesOf("mark01bb", "mark02bb", "mark05aa")
	answers(t, s, "the same stamp of another operation", want, true)(s.AddStamp(t.Context(), stamp("stamps a", "mark02bb")))
	same(t, "XOR", want.XOR(), []byte("aa"))

	orphan := xorack.Chain{
		Tag: "stamps b", StampLen: 2, Stamps: bytesOf("mark01bb"), Seen: at.Add(time.Minute), ExpiresOn: at.Add(24 * time.Hour),
	}
	answers(t, s, "before creation", orphan, true)(s.AddStamp(t.Context(), stamp("stamps b", "mark01bb")))
	created := newStamped("stamps b", "mark01bb", "mark02cc")
	created.Seen = at.Add(time.Minute)
	answers(t, s, "created over it", created, true)(s.Create(t.Context(), newStamped("stamps b", "mark02cc")))
}

func testStampsRefused(t *testing.T, s *xorack.Store) {
	open := create(t, s, newStamped("stamps refused a", "mark01aa"))
	answers(t, s, "another length", open, false)(s.AddStamp(t.Context(), stamp("stamps refused a", "mark02bbb")))
	longer := newStamped("stamps refused a", "mark02bbb")
	longer.StampLen = 3
	answers(t, s, "created with another length", open, false)(s.Create(t.Context(), longer))
	edges := create(t, s, newChain("stamps refused b"))
	answers(t, s, "on edges", edges, false)(s.AddStamp(t.Context(), stamp("stamps refused b", "mark01aa")))

	for _, marked := range []string{"mark02aa", "mark03aa", "mark04aa"} {
		_, added, err := s.AddStamp(t.Context(), stamp("stamps refused a", marked))
		check(t, err)
		same(t, "added", added, true)
	}
	full := standing(t, s, "stamps refused a")
	answers(t, s, "one too many", full, false)(s.AddStamp(t.Context(), stamp("stamps refused a", "mark05aa")))

	longer.Tag = "stamps refused c"
	_, _, err := s.AddStamp(t.Context(), stamp("stamps refused c", "mark01aa"))
	check(t, err)
	answers(t, s, "orphans of another length", standing(t, s, "stamps refused c"), false)(s.Create(t.Context(), longer))
}

func testSettle(t *testing.T, s *xorack.Store) {
	now := at.Add(time.Hour)
	create(t, s, newStamped("settle a", "mark01aa"))
	want, _, err := s.AddStamp(t.Context(), stamp("settle a", "mark02aa"))
	check(t, err)
	same(t, "end", want.End(), xorack.Open)
	answers(t, s, "one stamp too few", want, false)(s.Settle(t.Context(), "settle a", inc, 1, now))
	answers(t, s, "of a stranger", want, false)(s.Settle(t.Context(), "settle a", stranger, 2, now))
	want.Recorded, want.EndedAt = xorack.Done, now
	answers(t, s, "settle", want, true)(s.Settle(t.Context(), "settle a", inc, 2, now))
	answers(t, s, "repeated", want, false)(s.Settle(t.Context(), "settle a", inc, 2, now))
	answers(t, s, "and a stamp", want, false)(s.AddStamp(t.Context(), stamp("settle a", "mark03aa")))
	want.Due, want.ExpiresOn = time.Time{}, at.Add(48*time.Hour)
	answers(t, s, "sealed", want, true)(s.Seal(t.Context(), "settle a", inc, at, at.Add(48*time.Hour)))

	_, _, err = s.AddStamp(t.Context(), stamp("settle b", "mark01aa"))
	check(t, err)
	orphan, _, err := s.AddStamp(t.Context(), stamp("settle b", "mark02aa"))
	check(t, err)
	answers(t, s, "not created", orphan, false)(s.Settle(t.Context(), "settle b", inc, 2, now))
}

func testDeleteStamps(t *testing.T, s *xorack.Store) {
	now, expires := at.Add(time.Minute), at.Add(48*time.Hour)
	want := create(t, s, newStamped("delete stamps a", "mark01aa"))
	want.Recorded, want.LastOp, want.EndedAt, want.ExpiresOn, want.Due = xorack.Deleted, op(5), now, expires, time.Time{}
	answers(t, s, "delete", want, true)(s.DeleteStamps(t.Context(), "delete stamps a", op(5), now, expires))
	answers(t, s, "again", want, false)(s.DeleteStamps(t.Context(), "delete stamps a", op(6), now, expires))
	answers(t, s, "and a stamp", want, false)(s.AddStamp(t.Context(), stamp("delete stamps a", "mark02aa")))
	answers(t, s, "nothing", xorack.Chain{}, false)(s.DeleteStamps(t.Context(), "delete stamps b", op(5), now, expires))
	edges := create(t, s, newChain("delete stamps c"))
	answers(t, s, "of edges", edges, false)(s.DeleteStamps(t.Context(), "delete stamps c", op(5), now, expires))
}
