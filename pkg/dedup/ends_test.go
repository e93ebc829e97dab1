package dedup_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/dedup"
)

var errDown, errNoAccount = errors.New("down"), errors.New("no such account")

func policy(err error) dedup.Failure {
	if errors.Is(err, errNoAccount) {
		return dedup.Remember
	}
	return dedup.Forget
}

func TestErrorsByTheirClass(t *testing.T) {
	var ran atomic.Int64
	d := process(t, dedup.NewMemory(), &options{OnError: policy})
	check.Fails(t, check.Err(d.Once(t.Context(), "a", failsWith(errDown))), errDown)
	out := check.Get(d.Once(t.Context(), "a", returns("up", &ran)))
	check.That(t, out.Value == "up" && out.Attempt == 2, "after an error that is forgotten: %+v", out)
	check.Fails(t, check.Err(d.Once(t.Context(), "b", failsWith(errNoAccount))), errNoAccount)
	_, err := d.Once(t.Context(), "b", never(t))
	check.That(t, check.As[*dedup.RememberedError](t, err).Message == errNoAccount.Error(),
		"remembered %q", err)
	attempt := check.Get(d.TryStart(t.Context(), "c")).Attempt
	check.OK(t, attempt.Fail(t.Context(), errNoAccount))
	check.Fails(t, attempt.Complete(t.Context(), "x"), dedup.ErrEnded)
	_, _ = d.Once(t.Context(), "d", failsWith(errors.New(strings.Repeat("é", 1000))))
	kept := check.Get(d.Status(t.Context(), "d")).Row.Error
	check.That(t, len(kept) <= 256 && strings.HasSuffix(kept, "é..."), "kept %d bytes: %q", len(kept),
		kept)
}

func TestQuarantineAndRepair(t *testing.T) {
	store := dedup.NewMemory()
	d := process(t, store, &options{MaxAttempts: 2, Wait: dedup.NoWait})
	audit := dedup.Audit{By: "ada", Reason: "the bank is back"}
	for range 2 {
		check.Fails(t, check.Err(d.Once(t.Context(), "a", failsWith(errDown))), errDown)
	}
	_, err := d.Once(t.Context(), "a", never(t))
	q := check.As[*dedup.QuarantinedError](t, err)
	check.That(t, q.Attempts == 2 && q.Last == "down", "%+v", q)
	_, _ = d.Once(t.Context(), "b", failsWith(errDown))
	running := check.Get(d.TryStart(t.Context(), "c")).Attempt
	var ran atomic.Int64
	_, _ = d.Once(t.Context(), "d", returns("done", &ran))
	other := check.Get(dedup.New[string, string](store, "other", nil))
	_, _ = other.Once(t.Context(), "e", returns("done", &ran))

	for want, states := range map[string][]dedup.Status{
		"a":       {dedup.Quarantined},
		"b":       {dedup.Failed},
		"c":       {dedup.Running},
		"d":       {dedup.Completed},
		"a b":     {dedup.Quarantined, dedup.Failed, dedup.TimedOut},
		"a b c d": nil,
	} {
		var ids []string
		for entry, err := range d.List(t.Context(), states...) {
			check.OK(t, err)
			ids = append(ids, entry.Row.ID)
		}
		check.Is(t, strings.Join(ids, " "), want, states)
	}

	released := check.Get(d.Release(t.Context(), "a", audit))
	check.That(t, released, "not released")
	r := check.Get(d.Status(t.Context(), "a")).Row.Repair
	check.That(t, r.By == "ada" && r.Reason == audit.Reason && !r.At.IsZero(), "audit %+v", r)
	out := check.Get(d.Once(t.Context(), "a", returns("again", &ran)))
	check.That(t, out.Value == "again" && out.Attempt == 1, "%+v", out)
	check.IsA[*dedup.StillRunningError](t, check.Err(d.Release(t.Context(), "c", audit)))
	audit.Force = true
	released = check.Get(d.Release(t.Context(), "c", audit))
	check.That(t, released, "not released by force")
	check.IsA[*dedup.LostError](t, running.Complete(t.Context(), "late"))
	for _, id := range []string{"a", "nobody"} {
		changed := check.Get(d.Release(t.Context(), id, audit))
		check.That(t, !changed, "%q was released", id)
	}
}

func TestLifetimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := memory()
		store := on(t, rows)
		var ran atomic.Int64
		d := process(t, store, &options{TTL: time.Hour, CacheSize: 10, CacheAge: 2 * time.Hour})
		once := func() dedup.Outcome[string] {
			return check.Get(d.Once(t.Context(), "a", returns("value", &ran)))
		}
		once()
		bubble.Sleep(time.Hour - time.Millisecond)
		out := once()
		check.That(t, out.Value == "value" && out.Replayed, "just before the id's end: %+v", out)
		check.Is(t, check.Get(d.Status(t.Context(), "a")).Status, dedup.Completed)
		bubble.Sleep(time.Millisecond)
		check.Is(t, check.Get(d.Status(t.Context(), "a")).Status, dedup.Expired)
		if out := once(); out.Replayed || out.Attempt != 1 || ran.Load() != 2 {
			t.Errorf("after the id's: %+v, ran %d", out, ran.Load())
		}
		bubble.Sleep(3 * time.Hour)
		check.That(t, rows.Expire(time.Now()) == 1, "a was not deleted")
		check.Is(t, check.Get(d.Status(t.Context(), "a")).Status, dedup.NotStarted)
	})
}

func TestInvalidate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran atomic.Int64
		store := dedup.NewMemory()
		d := process(t, store, &options{CacheSize: 10, Lease: time.Minute})
		check.That(t, !check.Get(d.Invalidate(t.Context(), "a")), "there was nothing")
		attempt := check.Get(d.TryStart(t.Context(), "a")).Attempt
		check.IsA[*dedup.StillRunningError](t, check.Err(d.Invalidate(t.Context(), "a")))
		check.OK(t, attempt.Complete(t.Context(), incompressible(5000)))
		check.That(t, check.Get(d.Invalidate(t.Context(), "a")) &&
			!check.Get(d.Invalidate(t.Context(), "a")), "want true, then false")
		out := check.Get(d.Once(t.Context(), "a", returns("2", &ran)))
		check.That(t, !out.Replayed && out.Attempt == 1, "%+v", out)
		check.Get(d.TryStart(t.Context(), "b"))
		bubble.Sleep(time.Hour)
		check.That(t, !check.Get(d.Invalidate(t.Context(), "b")), "a timed out id runs again unasked")
	})
}

func TestPayload(t *testing.T) {
	var ran atomic.Int64
	store := dedup.NewMemory()
	for _, o := range []*options{{}, {CacheSize: 5}} {
		d := process(t, store, o)
		for _, same := range [][][]byte{{[]byte("100"), []byte("EUR")}, nil} {
			check.Is(t, check.Get(d.Once(t.Context(), "a", returns("1", &ran), same...)).Value, "1")
		}
		for _, other := range [][][]byte{{[]byte("900"), []byte("EUR")}, {[]byte("100EUR")},
			{[]byte("100"), []byte("EUR"), nil}} {
			_, err := d.Once(t.Context(), "a", never(t), other...)
			check.IsA[*dedup.PayloadMismatchError](t, err)
		}
	}
	d := process(t, store, nil)
	check.Get(d.Once(t.Context(), "b", returns("1", &ran)))
	check.Is(t, check.Get(d.Once(t.Context(), "b", never(t), []byte("any"))).Value, "1")
	check.Get(d.TryStart(t.Context(), "c", []byte("one")))
	_, err := process(t, store, nil).TryStart(t.Context(), "c", []byte("two"))
	check.IsA[*dedup.PayloadMismatchError](t, err)
}

// incompressible is a text of n bytes that zstd cannot make much shorter.
func incompressible(n int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	random := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, n)
	for i := range text {
		text[i] = letters[random.IntN(len(letters))]
	}
	return string(text)
}

func TestPlacesOfResults(t *testing.T) {
	for name, c := range map[string]struct {
		value   string
		options options
		place   dedup.Place
		codec   string
	}{
		"small":           {value: "x", codec: "json"},
		"empty":           {value: "", codec: "json"},
		"1 KB that packs": {value: strings.Repeat("x", 5000), codec: "json+zstd"},
		"never packed":    {value: strings.Repeat("x", 5000), options: options{CompressOver: -1}, codec: "json", place: dedup.InItem},
		"10 KB":           {value: incompressible(10_000), codec: "json", place: dedup.InItem},
		"380 KB":          {value: incompressible(380 << 10), codec: "json", options: options{CompressOver: -1}, place: dedup.InItem},
		"too large":       {value: incompressible(500 << 10), codec: "json", options: options{CompressOver: -1}, place: dedup.Omitted},
	} {
		t.Run(name, func(t *testing.T) {
			var ran atomic.Int64
			store := dedup.NewMemory()
			d := process(t, store, &c.options)
			if out := check.Get(d.Once(t.Context(), "a", returns(c.value, &ran))); out.Value != c.value ||
				out.Omitted {
				t.Error("the first call does not get its own value")
			}
			out := check.Get(d.Once(t.Context(), "a", never(t)))
			r := check.Get(d.Status(t.Context(), "a")).Row
			check.That(t, r.Result.Place == c.place && r.Result.Codec == c.codec,
				"in %q as %q, want %q as %q", r.Result.Place, r.Result.Codec, c.place, c.codec)
			omitted := c.place == dedup.Omitted
			check.That(t, out.Omitted == omitted && (omitted || out.Value == c.value),
				"omitted %v, %d bytes", out.Omitted, len(out.Value))
		})
	}
}

func TestSwitchedOff(t *testing.T) {
	for _, off := range []bool{true, false} {
		var ran atomic.Int64
		store := dedup.NewMemory()
		d := process(t, store, &dedup.Options[string, string]{Off: off})
		for range 2 {
			check.Get(d.Once(t.Context(), "a", returns("1", &ran)))
		}
		runs := ran.Load()
		check.That(t, off == (runs == 2), "off %v: %d runs", off, runs)
		if !off {
			continue
		}
		a := check.Get(d.TryStart(t.Context(), "b")).Attempt
		for _, err := range []error{a.Extend(t.Context(), time.Second), a.Complete(t.Context(), "x"),
			a.Fail(t.Context(), errDown)} {
			check.OK(t, err)
		}
		check.Is(t, check.Get(d.Status(t.Context(), "a")).Status, dedup.NotStarted)
	}
}

// bare is bytes of JSON, which it keeps as they were read.
type bare []byte

func (b bare) MarshalJSON() ([]byte, error) { return b, nil }

func (b *bare) UnmarshalJSON(data []byte) error {
	*b = data
	return nil
}

// TestNobodyChangesWhatIsRemembered: callers may do with their result what they like, also where it
// keeps what it was read from: the next ones get what the first one got.
func TestNobodyChangesWhatIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := check.Get(dedup.New(dedup.NewMemory(), "p", &dedup.Options[string, bare]{CacheSize: 10}))
		release := make(chan struct{})
		call := func() {
			out, err := d.Once(t.Context(), "a", func(context.Context) (bare, error) {
				<-release
				return bare("12345"), nil
			})
			check.That(t, err == nil && string(out.Value) == "12345",
				"%q, %v; want what the first call got", out.Value, err)
			copy(out.Value, "67890")
		}
		for range 5 { // one owner, the others wait for it in this process
			go call()
		}
		synctest.Wait()
		close(release)
		synctest.Wait()
		call() // from the cache
	})
}

// TestResultTooLargeToUnpack: a result that is small when it is compressed, and larger than what is
// ever unpacked, is omitted. It must not be stored as something that no duplicate can read.
func TestResultTooLargeToUnpack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // it may take longer than a lease
		d := process(t, dedup.NewMemory(), nil)
		large := strings.Repeat("x", 64<<20)
		check.Is(t, len(check.Get(d.Once(t.Context(), "a", answers(large))).Value), len(large))
		out := check.Get(d.Once(t.Context(), "a", never(t)))
		check.That(t, out.Omitted && out.Replayed, "omitted %v, replayed %v", out.Omitted, out.Replayed)
		fits := large[:64<<20-2] // and its quotes
		for range 2 {
			out := check.Get(d.Once(t.Context(), "b", answers(fits)))
			check.That(t, out.Value == fits, "%d bytes, omitted %v", len(out.Value), out.Omitted)
		}
	})
}
