package dedup_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/dev/bubble"
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
	if _, err := d.Once(t.Context(), "a", failsWith(errDown)); !errors.Is(err, errDown) {
		t.Errorf("error %v, want the effect's", err)
	}
	out := must[dedup.Outcome[string]](t)(d.Once(t.Context(), "a", returns("up", &ran)))
	if out.Value != "up" || out.Attempt != 2 {
		t.Errorf("after an error that is forgotten: %+v", out)
	}
	if _, err := d.Once(t.Context(), "b", failsWith(errNoAccount)); !errors.Is(err, errNoAccount) {
		t.Errorf("error %v, want the effect's", err)
	}
	_, err := d.Once(t.Context(), "b", never(t))
	if as[*dedup.RememberedError](t, err).Message != errNoAccount.Error() {
		t.Errorf("remembered %q", err)
	}
	attempt := must[dedup.Start[string, string]](t)(d.TryStart(t.Context(), "c")).Attempt
	if err := attempt.Fail(t.Context(), errNoAccount); err != nil {
		t.Fatal(err)
	}
	if err := attempt.Complete(t.Context(), "x"); !errors.Is(err, dedup.ErrEnded) {
		t.Errorf("complete after a remembered error: %v, want ErrEnded", err)
	}
	long := errors.New(strings.Repeat("é", 1000))
	_, _ = d.Once(t.Context(), "d", failsWith(long))
	if kept := must[dedup.Entry](t)(d.Status(t.Context(), "d")).Row.Error; len(kept) > 256 || !strings.HasSuffix(kept, "é...") {
		t.Errorf("kept %d bytes: %q", len(kept), kept)
	}
}

func TestQuarantineAndRepair(t *testing.T) {
	store := dedup.NewMemory()
	d := process(t, store, &options{MaxAttempts: 2, Poll: dedup.NoWait()})
	audit := dedup.Audit{By: "ada", Reason: "the bank is back"}
	for range 2 {
		if _, err := d.Once(t.Context(), "a", failsWith(errDown)); !errors.Is(err, errDown) {
			t.Fatal(err)
		}
	}
	_, err := d.Once(t.Context(), "a", never(t))
	if q := as[*dedup.QuarantinedError](t, err); q.Attempts != 2 || q.Last != "down" {
		t.Errorf("%+v", q)
	}
	_, _ = d.Once(t.Context(), "b", failsWith(errDown))
	running := must[dedup.Start[string, string]](t)(d.TryStart(t.Context(), "c")).Attempt
	var ran atomic.Int64
	_, _ = d.Once(t.Context(), "d", returns("done", &ran))
	other := must[*dedup.Deduplicator[string, string]](t)(dedup.New[string, string](store, "other", nil))
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
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, entry.Row.ID)
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("%v: %q, want %q", states, got, want)
		}
	}

	if released := must[bool](t)(d.Release(t.Context(), "a", audit)); !released {
		t.Error("not released")
	}
	if r := must[dedup.Entry](t)(d.Status(t.Context(), "a")).Row.Repair; r.By != "ada" || r.Reason != audit.Reason || r.Kind != dedup.Released || r.At.IsZero() {
		t.Errorf("audit %+v", r)
	}
	if out := must[dedup.Outcome[string]](t)(d.Once(t.Context(), "a", returns("again", &ran))); out.Value != "again" || out.Attempt != 1 {
		t.Errorf("%+v", out)
	}
	if forced := must[bool](t)(d.ForceComplete(t.Context(), "b", "by hand", audit)); !forced {
		t.Error("not completed")
	}
	if out := must[dedup.Outcome[string]](t)(d.Once(t.Context(), "b", never(t))); out.Value != "by hand" {
		t.Errorf("%+v", out)
	}
	_, err = d.Release(t.Context(), "c", audit)
	isA[*dedup.StillRunningError](t, err)
	audit.Force = true
	if released := must[bool](t)(d.Release(t.Context(), "c", audit)); !released {
		t.Error("not released by force")
	}
	isA[*dedup.LostError](t, running.Complete(t.Context(), "late"))
	for _, id := range []string{"a", "nobody"} {
		if changed := must[bool](t)(d.Release(t.Context(), id, audit)); changed {
			t.Errorf("%q was released", id)
		}
	}
}

func TestLifetimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows := memory()
		store := on(t, rows)
		var ran atomic.Int64
		d := process(t, store, &options{TTL: time.Hour, ResultTTL: time.Minute, CacheSize: 10, CacheAge: 10 * time.Minute})
		once := func() dedup.Outcome[string] {
			return must[dedup.Outcome[string]](t)(d.Once(t.Context(), "a", returns("value", &ran)))
		}
		once()
		bubble.Sleep(59 * time.Second)
		if out := once(); out.Value != "value" || !out.Replayed {
			t.Errorf("within both: %+v", out)
		}
		bubble.Sleep(time.Second)
		if out := once(); !out.Replayed || !out.Omitted || out.Value != "" {
			t.Errorf("after the result's: %+v", out)
		}
		bubble.Sleep(time.Hour - time.Minute - time.Millisecond)
		if out := once(); !out.Replayed {
			t.Errorf("just before the id's end: %+v", out)
		}
		if s := must[dedup.Entry](t)(d.Status(t.Context(), "a")); s.Status != dedup.Completed {
			t.Error(s.Status)
		}
		bubble.Sleep(time.Millisecond)
		if s := must[dedup.Entry](t)(d.Status(t.Context(), "a")); s.Status != dedup.Expired {
			t.Error(s.Status)
		}
		if out := once(); out.Replayed || out.Attempt != 1 || ran.Load() != 2 {
			t.Errorf("after the id's: %+v, ran %d", out, ran.Load())
		}
		forever := process(t, store, &options{KeepForever: true})
		_ = must[dedup.Outcome[string]](t)(forever.Once(t.Context(), "b", returns("value", &ran)))
		bubble.Sleep(100 * 365 * 24 * time.Hour)
		if rows.Expire(time.Now()) != 1 {
			t.Error("a was not deleted, or b was")
		}
		if out := must[dedup.Outcome[string]](t)(forever.Once(t.Context(), "b", never(t))); out.Value != "value" {
			t.Errorf("for ever: %+v", out)
		}
		if s := must[dedup.Entry](t)(d.Status(t.Context(), "a")); s.Status != dedup.NotStarted {
			t.Error(s.Status)
		}
	})
}

// TestForcedResultIsKeptAsLong: as one that its owner completed.
func TestForcedResultIsKeptAsLong(t *testing.T) {
	now := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	d := process(t, dedup.NewMemory(), &options{Lease: time.Minute, ResultTTL: time.Minute, Now: func() time.Time { return now }})
	_ = must[dedup.Start[string, string]](t)(d.TryStart(t.Context(), "a"))
	if !must[bool](t)(d.ForceComplete(t.Context(), "a", "x", dedup.Audit{By: "ada", Reason: "why", Force: true})) {
		t.Fatal("nothing to complete")
	}
	for _, omitted := range []bool{false, true} {
		if out := must[dedup.Outcome[string]](t)(d.Once(t.Context(), "a", never(t))); out.Omitted != omitted {
			t.Errorf("%+v, want omitted %v", out, omitted)
		}
		now = now.Add(time.Minute)
	}
}

func TestInvalidate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran atomic.Int64
		store := dedup.NewMemory()
		d := process(t, store, &options{CacheSize: 10, KeepForever: true, Lease: time.Minute})
		if must[bool](t)(d.Invalidate(t.Context(), "a")) {
			t.Error("there was nothing")
		}
		attempt := must[dedup.Start[string, string]](t)(d.TryStart(t.Context(), "a")).Attempt
		_, err := d.Invalidate(t.Context(), "a")
		isA[*dedup.StillRunningError](t, err)
		if err := attempt.Complete(t.Context(), incompressible(5000)); err != nil {
			t.Fatal(err)
		}
		if !must[bool](t)(d.Invalidate(t.Context(), "a")) || must[bool](t)(d.Invalidate(t.Context(), "a")) {
			t.Error("want true, then false")
		}
		if out := must[dedup.Outcome[string]](t)(d.Once(t.Context(), "a", returns("2", &ran))); out.Replayed || out.Attempt != 1 {
			t.Errorf("%+v", out)
		}
		_ = must[dedup.Start[string, string]](t)(d.TryStart(t.Context(), "b"))
		bubble.Sleep(time.Hour)
		if must[bool](t)(d.Invalidate(t.Context(), "b")) {
			t.Error("a timed out id runs again unasked")
		}
	})
}

func TestPayload(t *testing.T) {
	var ran atomic.Int64
	store := dedup.NewMemory()
	for _, o := range []*options{{}, {CacheSize: 5}} {
		d := process(t, store, o)
		for _, same := range [][][]byte{{[]byte("100"), []byte("EUR")}, nil} {
			if out := must[dedup.Outcome[string]](t)(d.Once(t.Context(), "a", returns("1", &ran), same...)); out.Value != "1" {
				t.Errorf("%+v", out)
			}
		}
		for _, other := range [][][]byte{{[]byte("900"), []byte("EUR")}, {[]byte("100EUR")}, {[]byte("100"), []byte("EUR"), nil}} {
			_, err := d.Once(t.Context(), "a", never(t), other...)
			isA[*dedup.PayloadMismatchError](t, err)
		}
	}
	d := process(t, store, nil)
	_ = must[dedup.Outcome[string]](t)(d.Once(t.Context(), "b", returns("1", &ran)))
	if out := must[dedup.Outcome[string]](t)(d.Once(t.Context(), "b", never(t), []byte("any"))); out.Value != "1" {
		t.Errorf("a first call without a payload: %+v", out)
	}
	_ = must[dedup.Start[string, string]](t)(d.TryStart(t.Context(), "c", []byte("one")))
	_, err := process(t, store, nil).TryStart(t.Context(), "c", []byte("two"))
	isA[*dedup.PayloadMismatchError](t, err)
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

// bucket is an overflow store.
type bucket map[string][]byte

func (b bucket) Put(_ context.Context, key string, body []byte) error {
	b[key] = bytes.Clone(body)
	return nil
}

func (b bucket) Get(_ context.Context, key string) ([]byte, error) { return b[key], nil }

func TestPlacesOfResults(t *testing.T) {
	for name, c := range map[string]struct {
		value    string
		options  options
		place    dedup.Place
		codec    string
		overflow int
	}{
		"small":           {value: "x", codec: "json"},
		"empty":           {value: "", codec: "json"},
		"1 KB that packs": {value: strings.Repeat("x", 5000), codec: "json+zstd"},
		"never packed":    {value: strings.Repeat("x", 5000), options: options{CompressOver: -1}, codec: "json", place: dedup.InItem},
		"10 KB":           {value: incompressible(10_000), codec: "json", place: dedup.InItem},
		"380 KB":          {value: incompressible(380 << 10), codec: "json", options: options{CompressOver: -1}, place: dedup.InItem},
		"too large":       {value: incompressible(500 << 10), codec: "json", options: options{CompressOver: -1}, place: dedup.Omitted},
		"overflow":        {value: incompressible(500 << 10), codec: "json", options: options{CompressOver: -1, Overflow: bucket{}}, place: dedup.InOverflow, overflow: 1},
	} {
		t.Run(name, func(t *testing.T) {
			var ran atomic.Int64
			store := dedup.NewMemory()
			d := process(t, store, &c.options)
			if out := must[dedup.Outcome[string]](t)(d.Once(t.Context(), "a", returns(c.value, &ran))); out.Value != c.value || out.Omitted {
				t.Error("the first call does not get its own value")
			}
			out := must[dedup.Outcome[string]](t)(d.Once(t.Context(), "a", never(t)))
			r := must[dedup.Entry](t)(d.Status(t.Context(), "a")).Row
			if r.Result.Place != c.place || r.Result.Codec != c.codec {
				t.Errorf("in %q as %q, want %q as %q", r.Result.Place, r.Result.Codec, c.place, c.codec)
			}
			if omitted := c.place == dedup.Omitted; out.Omitted != omitted || !omitted && out.Value != c.value {
				t.Errorf("omitted %v, %d bytes", out.Omitted, len(out.Value))
			}
			if b, ok := c.options.Overflow.(bucket); ok {
				if len(b) != c.overflow {
					t.Errorf("%d objects", len(b))
				}
				for key := range b {
					if len(key) != 44 || strings.Trim(key, "abcdefghijklmnopqrstuvwxyz0123456789-/") != "" {
						t.Errorf("key %q", key)
					}
				}
			}
		})
	}
}

func TestReplayHook(t *testing.T) {
	var ran atomic.Int64
	refuse := errors.New("refused by the hook")
	o := &options{OnReplay: func(_ context.Context, out dedup.Outcome[string]) (dedup.Outcome[string], error) {
		if out.Value == "secret" {
			return out, refuse
		}
		out.Value += " (again)"
		return out, nil
	}}
	d := process(t, dedup.NewMemory(), o)
	if out := must[dedup.Outcome[string]](t)(d.Once(t.Context(), "a", returns("1", &ran))); out.Value != "1" {
		t.Errorf("the first call: %+v", out)
	}
	for range 2 {
		if out := must[dedup.Outcome[string]](t)(d.Once(t.Context(), "a", never(t))); out.Value != "1 (again)" {
			t.Errorf("a duplicate: %+v", out)
		}
	}
	_, _ = d.Once(t.Context(), "b", returns("secret", &ran))
	if _, err := d.Once(t.Context(), "b", never(t)); !errors.Is(err, refuse) {
		t.Errorf("error %v, want the hook's", err)
	}
}

func TestSwitchedOff(t *testing.T) {
	for _, off := range []bool{true, false} {
		var ran atomic.Int64
		store := dedup.NewMemory()
		d := process(t, store, &dedup.Options[string, string]{Off: off})
		for range 2 {
			_ = must[dedup.Outcome[string]](t)(d.Once(t.Context(), "a", returns("1", &ran)))
		}
		if runs := ran.Load(); off != (runs == 2) {
			t.Errorf("off %v: %d runs", off, runs)
		}
		if !off {
			continue
		}
		a := must[dedup.Start[string, string]](t)(d.TryStart(t.Context(), "b")).Attempt
		for _, err := range []error{a.Extend(t.Context(), time.Second), a.Complete(t.Context(), "x"), a.Fail(t.Context(), errDown)} {
			if err != nil {
				t.Error(err)
			}
		}
		if s := must[dedup.Entry](t)(d.Status(t.Context(), "a")); s.Status != dedup.NotStarted {
			t.Error(s.Status)
		}
	}
}
