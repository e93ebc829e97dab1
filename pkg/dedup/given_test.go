package dedup_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/pkg/dedup"
)

// noStore is a Store of a type of its own.
type noStore struct{ dedup.Store }

// TestNothingGiven: what must be given and is nil is an error that names it.
func TestNothingGiven(t *testing.T) {
	field := func(want string, err error) {
		t.Helper()
		if got := as[*dedup.InvalidError](t, err).Field; got != want {
			t.Errorf("field %q, want %q", got, want)
		}
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
		if run := none.Run(); run != (dedup.Run{}) {
			t.Errorf("%+v", run)
		}
	}
	started := must[dedup.Start[string, string]](t)(d.TryStart(ctx, "a")).Attempt
	field("error", started.Fail(ctx, nil))
	if err := started.Complete(ctx, "x"); err != nil {
		t.Errorf("after a fail that was refused: %v", err)
	}

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
	d := must[*dedup.Deduplicator[ID, string]](t)(dedup.New[ID, string](dedup.NewMemory(), "p", nil))
	start, err := d.TryStart(t.Context(), id)
	if err != nil {
		return "", err
	}
	return start.Attempt.Run().Key.ID, nil
}

// TestTextsOfIDs: strings of any type are themselves, and a nil is no id.
func TestTextsOfIDs(t *testing.T) {
	order, text := orderID("17"), "17"
	check := func(got string, err error) {
		t.Helper()
		if err != nil || got != "17" {
			t.Errorf("%q, %v; want 17", got, err)
		}
	}
	check(textOf(t, "17"))
	check(textOf(t, order))
	check(textOf(t, &order))
	check(textOf(t, &text))
	check(textOf[any](t, order))
	check(textOf(t, 17))
	if got, err := textOf(t, &parsed{7}); err != nil || got != "7" {
		t.Errorf("%q, %v; want 7", got, err)
	}
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
		if as[*dedup.InvalidError](t, <-errs).Field != "result" {
			t.Error("want an error of the result")
		}
		if err := <-errs; err != nil {
			t.Error(err)
		}
		if out := <-follower; !out.Omitted || time.Since(began) > 0 {
			t.Errorf("%+v after %v", out, time.Since(began))
		}
		start := must[dedup.Start[string, string]](t)(d.TryStart(t.Context(), "b"))
		if as[*dedup.InvalidError](t, start.Attempt.Complete(t.Context(), "boom")).Field != "result" {
			t.Error("want an error of the result")
		}
		_ = must[dedup.Outcome[string]](t)(d.Once(t.Context(), "c", func(context.Context) (string, error) { return "bang", nil }))
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
				if got := recover(); got != "hook" {
					t.Errorf("panic %v, want the hook's", got)
				}
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
			if out.Attempt != 2 {
				t.Errorf("%+v", out)
			}
			errs <- err
		}()
		synctest.Wait()
		close(release)
		<-over
		if err := <-errs; err != nil || time.Since(began) > 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		start := must[dedup.Start[string, string]](t)(d.TryStart(t.Context(), "b"))
		panics(func() { _ = start.Attempt.Fail(t.Context(), errDown) })
		if s := must[dedup.Entry](t)(d.Status(t.Context(), "b")); s.Status != dedup.Failed || s.Row.Error != "down" {
			t.Errorf("%+v", s)
		}
		if err := start.Attempt.Complete(t.Context(), "x"); !errors.Is(err, dedup.ErrEnded) {
			t.Errorf("%v, want ErrEnded", err)
		}
		plain := process(t, dedup.NewMemory(), nil)
		if _, err := plain.Once(t.Context(), "a", failsWith(mute{})); err == nil {
			t.Error("no error")
		}
		if s := must[dedup.Entry](t)(plain.Status(t.Context(), "a")).Status; s != dedup.Failed {
			t.Error(s)
		}
	})
}
