package cursor_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/streamsort/streamsort/pkg/cursor"
)

// storedPack is a packed run of n messages from a seq on, as it is stored.
func storedPack(q string, first int64, n int) cursor.Message {
	whole := wholeMessage(q, first)
	pack := cursor.Message{
		Queue: q, Seq: first, AmongPacks: true, EnqueuedAt: whole.EnqueuedAt, ExpiresOn: whole.ExpiresOn, Digest: whole.Digest, Op: whole.Op,
	}
	for i := range n {
		m := whole
		m.Seq, m.Digest, m.Body = first+int64(i), nil, fmt.Appendf(nil, "body %d", i)
		pack.Packed = append(pack.Packed, m)
	}
	return pack
}

func TestStorePack(t *testing.T) {
	onEach(t, func(t *testing.T, s *cursor.Store, q string) {
		for _, n := range []int{2, 100} {
			want := storedPack(q, int64(n), n)
			put(t, s, want)
			got, _, err := s.Message(t.Context(), q, int64(n))
			check(t, err)
			same(t, "pack", got, want)
		}
		page, err := s.Messages(t.Context(), cursor.Query{Queue: q, Last: cursor.MaxSeq, HeadsOnly: true})
		check(t, err)
		same(t, "head", len(page.Messages[1].Packed), 100)
		same(t, "a message in it", page.Messages[1].Packed[99], cursor.Message{Queue: q, Seq: 199, EnqueuedAt: at, ExpiresOn: page.Messages[1].ExpiresOn})
	})
}

func TestStorePutOver(t *testing.T) {
	onEach(t, func(t *testing.T, s *cursor.Store, q string) {
		dead := storedPack(q, 1, 3)
		put(t, s, dead)
		single := wholeMessage(q, 1)
		longer, other := storedPack(q, 1, 2), dead
		other.Digest = []byte("another digest!!")
		for what, is := range map[string]cursor.Message{"of another length": longer, "another": other} {
			got, err := s.PutOver(t.Context(), single, is)
			check(t, err)
			same(t, what, got, dead)
		}
		for range 2 {
			got, err := s.PutOver(t.Context(), single, dead)
			check(t, err)
			same(t, "over it", got, single)
		}
		late := wholeMessage(q, 1)
		late.Op = []byte("87654321")
		got, err := s.PutOver(t.Context(), late, dead)
		check(t, err)
		same(t, "over a message", got, single)
		late.Seq = 2
		got, err = s.PutOver(t.Context(), late, dead)
		check(t, err)
		same(t, "where nothing is", got, late)
	})
}

func TestStoreMovePacked(t *testing.T) {
	onEach(t, func(t *testing.T, s *cursor.Store, q string) {
		want := newCursor(q)
		want.Settings.Packs = cursor.PacksOn
		create(t, s, want)
		later := at.Add(time.Minute)
		move := func(what string, first, last int64, held bool) {
			t.Helper()
			got, moved, err := s.MovePacked(t.Context(), q, first, last, later)
			check(t, err)
			same(t, what, moved, held)
			same(t, "cursor", got, want)
		}
		move("from ahead", 2, 4, false)
		want.Position, want.LastPack, want.MovedAt = 3, cursor.Range{From: 0, To: 3}, later
		move("from the position", 1, 3, true)
		move("again", 1, 3, false)
		want.Position, want.LastPack = 5, cursor.Range{From: 3, To: 5}
		move("the next", 4, 5, true)
		_, err := s.LeaveToSweep(t.Context(), q, 6, later)
		check(t, err)
		want.MaxParked = 6
		move("with its first seq parked", 6, 7, false)
		_, err = s.WidenGap(t.Context(), q, 8)
		check(t, err)
		want.MaxParked = 8
		move("with a gap", 6, 7, false)

		other := newCursor(q + "other")
		create(t, s, other)
		_, moved, err := s.MovePacked(t.Context(), other.Queue, 1, 2, later)
		check(t, err)
		same(t, "of a queue without packed runs", moved, false)
	})
}

func TestStoreSwitchesPacks(t *testing.T) {
	onEach(t, func(t *testing.T, s *cursor.Store, q string) {
		made := newCursor(q)
		made.Settings.Packs = cursor.PacksOn
		create(t, s, made)
		for _, to := range []cursor.Packs{cursor.PacksOff, cursor.PacksOff, cursor.PacksOn, cursor.PacksOn} {
			c, changed, err := s.Configure(t.Context(), q, cursor.Change{Packs: &to})
			check(t, err)
			same(t, "changed", changed, true)
			same(t, "switched", c.Settings.Packs, to)
		}
	})
}
