package dedup_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/dedup"
)

// noStore is a Store of a type of its own.
type noStore struct{ dedup.Store }

// TestNothingGiven: what must be given and is nil is an error that names it.
func TestNothingGiven(t *testing.T) {
	field := func(want string, err error) {
		t.Helper()
		check.Is(t, as[*dedup.InvalidError](t, err).Field, want)
	}
	_, err := dedup.New[string, string](nil, "p", nil)
	field("store", err)
	_, err = dedup.New[string, string]((*noStore)(nil), "p", nil)
	field("store", err)
	_, err = dedup.NewDynamo(nil, dedup.Names{})
	field("client", err)

	ctx, d := t.Context(), process(t, dedup.NewMemory(), nil)
	_, err = d.Once(ctx, "a", nil)
	field("effect", err)
	var zero dedup.Deduplicator[string, string]
	for _, none := range []*dedup.Deduplicator[string, string]{nil, &zero} {
		_, err = none.Once(ctx, "a", never(t))
		field("deduplicator", err)
		_, err = none.TryStart(ctx, "a")
		field("deduplicator", err)
		_, err = none.Invalidate(ctx, "a")
		field("deduplicator", err)
		_, err = none.Status(ctx, "a")
		field("deduplicator", err)
		_, err = none.Release(ctx, "a", dedup.Audit{By: "ada", Reason: "why"})
		field("deduplicator", err)
		for _, err := range none.List(ctx) {
			field("deduplicator", err)
		}
	}
	for _, none := range []*dedup.Deduplicator[string, string]{nil, &zero} {
		_, err = dedup.Each(ctx, none, []string{"a"}, func(s string) (string, error) { return s, nil }, func(_ context.Context, s string) (string, error) { return s, nil })
		field("deduplicator", err)
		_, err = none.Unprotected(ctx, never(t))
		field("deduplicator", err)
	}

	var attempt dedup.Attempt[string, string]
	for _, none := range []*dedup.Attempt[string, string]{nil, &attempt} {
		field("attempt", none.Complete(ctx, "x"))
		field("attempt", none.Fail(ctx, errDown))
		field("attempt", none.Extend(ctx, time.Minute))
		check.Is(t, none.Run(), (dedup.Run{}))
	}
	started := check.Get(d.TryStart(ctx, "a")).Attempt
	field("error", started.Fail(ctx, nil))
	err = started.Complete(ctx, "x")
	check.That(t, err == nil, "after a fail that was refused: %v", err)

	_, err = dedup.Each[string, string, string](ctx, d, []string{"a"}, func(s string) (string, error) { return s, nil }, nil)
	field("id or handler", err)
}

type (
	orderID string
	parsed  struct{ n int }
)

func (p *parsed) MarshalText() ([]byte, error) { return []byte{byte('0' + p.n)}, nil }

// textOf is the text that an id becomes.
func textOf[ID any](t *testing.T, id ID) (string, error) {
	d := check.Get(dedup.New[ID, string](dedup.NewMemory(), "p", nil))
	start, err := d.TryStart(t.Context(), id)
	if err != nil {
		return "", err
	}
	return start.Attempt.Run().Key.ID, nil
}

// TestTextsOfIDs: strings of any type are themselves, and a nil is no id.
func TestTextsOfIDs(t *testing.T) {
	order, text := orderID("17"), "17"
	field := func(got string, err error) {
		t.Helper()
		check.That(t, err == nil && got == "17", "%q, %v; want 17", got, err)
	}
	field(textOf(t, "17"))
	field(textOf(t, order))
	field(textOf(t, &order))
	field(textOf(t, &text))
	field(textOf[any](t, order))
	field(textOf(t, 17))
	got, err := textOf(t, &parsed{7})
	check.That(t, err == nil && got == "7", "%q, %v; want 7", got, err)
	none := func(_ string, err error) {
		t.Helper()
		if as[*dedup.InvalidError](t, err).Field != "id" {
			t.Error(err)
		}
	}
	none(textOf[*string](t, nil))
	none(textOf[*parsed](t, nil))
	none(textOf[any](t, nil))
	none(textOf[[]byte](t, nil))
	none(textOf[map[string]int](t, nil))
}

// fragile is a codec that panics.
type fragile struct{}

func (fragile) Name() string { return "fragile" }

func (fragile) Marshal(value any) ([]byte, error) {
	if value == "boom" {
		panic("boom")
	}
	return json.Marshal(value)
}

func (fragile) Unmarshal(data []byte, into any) error {
	if strings.Contains(string(data), "bang") {
		panic("bang")
	}
	return json.Unmarshal(data, into)
}

// TestCodecThatPanics: as one that fails. The effect has run and is not run
// again, and nobody waits for its lease.
func TestCodecThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := process(t, dedup.NewMemory(), &options{Codec: fragile{}})
		release := make(chan struct{})
		errs := make(chan error, 2)
		go func() {
			_, err := d.Once(t.Context(), "a", func(context.Context) (string, error) { <-release; return "boom", nil })
			errs <- err
		}()
		synctest.Wait()
		began := time.Now()
		follower := make(chan dedup.Outcome[string], 1)
		go func() {
			out, err := d.Once(t.Context(), "a", never(t))
			errs <- err
			follower <- out
		}()
		synctest.Wait()
		close(release)
		check.That(t, as[*dedup.InvalidError](t, <-errs).Field == "result", "want an error of the result")
		check.OK(t, <-errs)
		out := <-follower
		check.That(t, out.Omitted && time.Since(began) <= 0, "%+v after %v", out, time.Since(began))
		start := check.Get(d.TryStart(t.Context(), "b"))
		if as[*dedup.InvalidError](t, start.Attempt.Complete(t.Context(), "boom")).Field != "result" {
			t.Error("want an error of the result")
		}
		check.Get(d.Once(t.Context(), "c", func(context.Context) (string, error) { return "bang", nil }))
		_, err := d.Once(t.Context(), "c", never(t))
		if as[*dedup.RowError](t, err).Field != "result" {
			t.Error(err)
		}
	})
}

// mute is an error without a text.
type mute struct{ text *string }

func (m mute) Error() string { return *m.text }

// TestHookThatPanics: the panic goes on, the id is given back, and nobody who
// waits is stuck.
func TestHookThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := process(t, dedup.NewMemory(), &options{OnError: func(error) dedup.Failure { panic("hook") }})
		panics := func(do func()) {
			t.Helper()
			defer func() {
				got := recover()
				check.That(t, got == "hook", "panic %v, want the hook's", got)
			}()
			do()
		}
		release, over := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(over)
			panics(func() {
				_, _ = d.Once(t.Context(), "a", func(context.Context) (string, error) { <-release; return "", errDown })
			})
		}()
		synctest.Wait()
		began := time.Now()
		errs := make(chan error, 1)
		go func() {
			out, err := d.Once(t.Context(), "a", func(context.Context) (string, error) { return "2", nil })
			check.That(t, out.Attempt == 2, "%+v", out)
			errs <- err
		}()
		synctest.Wait()
		close(release)
		<-over
		err := <-errs
		check.That(t, err == nil && time.Since(began) <= 0, "%v after %v", err, time.Since(began))
		start := check.Get(d.TryStart(t.Context(), "b"))
		panics(func() { _ = start.Attempt.Fail(t.Context(), errDown) })
		s := check.Get(d.Status(t.Context(), "b"))
		check.That(t, s.Status == dedup.Failed && s.Row.Error == "down", "%+v", s)
		check.Fails(t, start.Attempt.Complete(t.Context(), "x"), dedup.ErrEnded)
		plain := process(t, dedup.NewMemory(), nil)
		check.That(t, check.Err(plain.Once(t.Context(), "a", failsWith(mute{}))) != nil, "no error")
		check.Is(t, check.Get(plain.Status(t.Context(), "a")).Status, dedup.Failed)
	})
}
