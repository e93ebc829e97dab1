package dedup_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/dedup"
	"github.com/streamsort/streamsort/pkg/table"
)

func TestInvalidOptions(t *testing.T) {
	for name, c := range map[string]struct {
		options options
		field   string
	}{
		"lease":             {options{Lease: -time.Second}, "lease"},
		"lease, too short":  {options{Lease: time.Millisecond}, "lease"},
		"lease, too long":   {options{Lease: 25 * time.Hour}, "lease"},
		"ttl":               {options{TTL: -1}, "ttl"},
		"margin":            {options{Margin: 2 * time.Hour}, "margin"},
		"cache age":         {options{CacheAge: -1}, "cacheAge"},
		"attempts":          {options{MaxAttempts: -1}, "maxAttempts"},
		"cache":             {options{CacheSize: -1}, "cacheSize"},
		"wait beyond lease": {options{Lease: time.Second, Wait: 2 * time.Second}, "wait"},
		"negative wait":     {options{Wait: -2}, "wait"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := dedup.New(dedup.NewMemory(), "p", &c.options)
			check.Is(t, check.As[*dedup.InvalidError](t, err).Field, c.field, err)
		})
	}
	for _, processor := range []string{"", strings.Repeat("p", 256), "\xff", "#x"} {
		_, err := dedup.New[string, string](dedup.NewMemory(), processor, nil)
		check.Is(t, check.As[*dedup.InvalidError](t, err).Field, "processor", processor, err)
	}
}

func TestInvalidIDs(t *testing.T) {
	d := process(t, dedup.NewMemory(), nil)
	for name, id := range map[string]string{"empty": "", "long": strings.Repeat("x", 1025),
		"no UTF-8": "\xff"} {
		_, err := d.Once(t.Context(), id, never(t))
		check.That(t, check.As[*dedup.InvalidError](t, err).Field == "id", "%s: %v", name, err)
		check.IsA[*dedup.InvalidError](t, check.Err(d.TryStart(t.Context(), id)))
		check.IsA[*dedup.InvalidError](t, check.Err(d.Invalidate(t.Context(), id)))
	}
	check.Get(d.Once(t.Context(), strings.Repeat("x", 1024), answers("")))
	bad := check.Get(dedup.New[chan int, string](dedup.NewMemory(), "p", nil))
	check.IsA[*dedup.InvalidError](t, check.Err(bad.Once(t.Context(), nil, never(t))))
	for field, audit := range map[string]dedup.Audit{"by": {Reason: "x"}, "reason": {By: "x"}} {
		_, err := d.Release(t.Context(), "a", audit)
		check.That(t, check.As[*dedup.InvalidError](t, err).Field == field, "%+v: %v", audit, err)
	}
	attempt := check.Get(d.TryStart(t.Context(), "a")).Attempt
	for _, lease := range []time.Duration{0, -time.Second, 25 * time.Hour} {
		err := attempt.Extend(t.Context(), lease)
		check.Is(t, check.As[*dedup.InvalidError](t, err).Field, "lease", lease)
	}
}

// TestResultThatDoesNotEncode: the effect has run, so it is not run again.
func TestResultThatDoesNotEncode(t *testing.T) {
	d := check.Get(dedup.New[string, float64](dedup.NewMemory(), "p", nil))
	ran := 0
	effect := func(context.Context) (float64, error) { ran++; return math.NaN(), nil }
	out, err := d.Once(t.Context(), "a", effect)
	check.That(t, check.As[*dedup.InvalidError](t, err).Field == "result" && math.IsNaN(out.Value),
		"%+v, %v", out, err)
	again := check.Get(d.Once(t.Context(), "a", effect))
	check.That(t, again.Omitted && ran == 1, "%+v, ran %d times", again, ran)
}

// TestResultThatDoesNotDecode any more.
func TestResultThatDoesNotDecode(t *testing.T) {
	store := dedup.NewMemory()
	texts := process(t, store, nil)
	check.Get(texts.Once(t.Context(), "a", answers("text")))
	numbers := check.Get(dedup.New[string, int](store, "payments", nil))
	_, err := numbers.Once(t.Context(), "a", func(context.Context) (int, error) {
		t.Error("the effect ran")
		return 0, nil
	})
	check.That(t, check.As[*dedup.RowError](t, err).Field == "result", "%v", err)
	r := check.Get(texts.Status(t.Context(), "a")).Row
	other := r
	other.Result.Codec = "other"
	check.Get(stored(store.Swap(t.Context(), r, other)))
	_, err = texts.Once(t.Context(), "a", never(t))
	check.That(t, check.As[*dedup.RowError](t, err).Field == "codec", "%v", err)
}

// stored is the row after a swap.
func stored(r dedup.Row, _ bool, err error) (dedup.Row, error) { return r, err }

// TestResultThatIsGone: the row says where it is, and it is not there.
func TestResultThatIsGone(t *testing.T) {
	store := dedup.NewMemory()
	d := process(t, store, nil)
	check.Get(d.Once(t.Context(), "item", answers(incompressible(5000))))
	r := check.Get(d.Status(t.Context(), "item")).Row
	check.OK(t, store.PutResult(t.Context(),
		dedup.StoredResult{Key: r.Key, Token: r.Token, ExpiresOn: r.ExpiresOn}))
	_, err := d.Once(t.Context(), "item", never(t))
	check.That(t, check.As[*dedup.RowError](t, err).Field == "result", "%v", err)
}

// TestRowsThatNobodyHereWrote: of another library, of a later version, by hand.
func TestRowsThatNobodyHereWrote(t *testing.T) {
	engine := memory()
	whole := func() ddb.Fields {
		return ddb.Fields{
			"processorId": ddb.Text("payments"), "v": ddb.Int(1), "fence": ddb.Int(7), "attempt": ddb.Int(1),
			"token": ddb.Blob(make([]byte, 16)), "startedAt": ddb.Int(1), "leaseUntil": ddb.Int(2),
			"validUntil": ddb.Millis(time.Now().Add(time.Hour)), "completedAt": ddb.Int(3),
			"codec": ddb.Text("json"), "result": ddb.Blob([]byte(`"x"`)),
		}
	}
	broken := map[string]ddb.Fields{
		"v":     {"processorId": ddb.Text("payments"), "startedAt": ddb.Int(1)}, // as Mnemosyne writes it
		"newer": whole(),
	}
	broken["newer"]["v"] = ddb.Int(2)
	for _, field := range []ddb.Path{"fence", "attempt", "token", "startedAt", "leaseUntil",
		"validUntil"} {
		missing, wrong := whole(), whole()
		delete(missing, field)
		wrong[field] = ddb.Text("wrong")
		broken[string(field)] = missing
		broken["wrong "+string(field)] = wrong
	}
	for _, field := range []ddb.Path{"completedAt", "result", "payloadHash", "codec",
		"resultIn", "expiresOn"} {
		wrong := whole()
		wrong[field] = ddb.MapOf(nil)
		broken[string(field)] = wrong
	}
	d := process(t, on(t, engine), nil)
	for name, it := range broken {
		it["id"] = ddb.Text(name)
		put(t, engine, dedup.Names{}, it.Item())
		_, err := d.Once(t.Context(), name, never(t))
		bad := check.As[*dedup.RowError](t, err)
		if _, field, _ := strings.Cut(" "+name, " "); name == "newer" {
			check.That(t, errors.Is(err, table.ErrNewerLayout), "%s: %v, want ErrNewerLayout", name, err)
		} else if want := strings.TrimPrefix(field, "wrong "); bad.Field != want {
			t.Errorf("%s: field %q, want %q: %v", name, bad.Field, want, err)
		}
	}
	found := 0
	for _, err := range d.List(t.Context()) {
		check.IsA[*dedup.RowError](t, err)
		found++
	}
	check.That(t, found == len(broken), "listed %d broken rows, want %d", found, len(broken))
}

type noStore struct{ dedup.Store }

// TestNothingGiven: what must be given and is nil is an error that names it.
func TestNothingGiven(t *testing.T) {
	field := func(want string, err error) {
		t.Helper()
		check.Is(t, check.As[*dedup.InvalidError](t, err).Field, want)
	}
	field("store", check.Err(dedup.New[string, string](nil, "p", nil)))
	field("store", check.Err(dedup.New[string, string]((*noStore)(nil), "p", nil)))
	field("client", check.Err(dedup.NewDynamo(nil, dedup.Names{})))

	ctx, d := t.Context(), process(t, dedup.NewMemory(), nil)
	field("effect", check.Err(d.Once(ctx, "a", nil)))
	var zero dedup.Deduplicator[string, string]
	for _, none := range []*dedup.Deduplicator[string, string]{nil, &zero} {
		field("deduplicator", check.Err(none.Once(ctx, "a", never(t))))
		field("deduplicator", check.Err(none.TryStart(ctx, "a")))
		field("deduplicator", check.Err(none.Invalidate(ctx, "a")))
		field("deduplicator", check.Err(none.Status(ctx, "a")))
		field("deduplicator", check.Err(none.Release(ctx, "a", dedup.Audit{By: "ada", Reason: "why"})))
		for _, err := range none.List(ctx) {
			field("deduplicator", err)
		}
	}
	for _, none := range []*dedup.Deduplicator[string, string]{nil, &zero} {
		field("deduplicator",
			check.Err(dedup.Each(ctx, none, []string{"a"}, func(s string) (string, error) {
				return s, nil
			}, func(_ context.Context, s string) (string, error) { return s, nil })))
		field("deduplicator", check.Err(none.Unprotected(ctx, never(t))))
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
	check.OK(t, started.Complete(ctx, "x"))

	field("id or handler",
		check.Err(dedup.Each[string, string, string](ctx, d, []string{"a"},
			func(s string) (string, error) {
				return s, nil
			}, nil)))
}

type (
	orderID string
	parsed  struct{ n int }
)

func (p *parsed) MarshalText() ([]byte, error) { return []byte{byte('0' + p.n)}, nil }

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
		check.That(t, check.As[*dedup.InvalidError](t, err).Field == "id", "%v", err)
	}
	none(textOf[*string](t, nil))
	none(textOf[*parsed](t, nil))
	none(textOf[any](t, nil))
	none(textOf[[]byte](t, nil))
	none(textOf[map[string]int](t, nil))
}

// fragile is a result whose own encoding panics.
type fragile string

func (f fragile) MarshalJSON() ([]byte, error) {
	if f == "boom" {
		panic("boom")
	}
	return json.Marshal(string(f))
}

func (f *fragile) UnmarshalJSON(data []byte) error {
	if strings.Contains(string(data), "bang") {
		panic("bang")
	}
	return json.Unmarshal(data, (*string)(f))
}

// TestEncodingThatPanics: as one that fails. The effect has run and is not run again, and nobody
// waits for its lease.
func TestEncodingThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := check.Get(dedup.New[string, fragile](dedup.NewMemory(), "p", nil))
		returns := func(value fragile) func(context.Context) (fragile, error) {
			return func(context.Context) (fragile, error) { return value, nil }
		}
		release := make(chan struct{})
		owner, follows := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := d.Once(t.Context(), "a", func(context.Context) (fragile, error) {
				<-release
				return "boom", nil
			})
			owner <- err
		}()
		synctest.Wait()
		began := time.Now()
		follower := make(chan dedup.Outcome[fragile], 1)
		go func() {
			out, err := d.Once(t.Context(), "a", returns("again"))
			follows <- err
			follower <- out
		}()
		synctest.Wait()
		close(release)
		check.Is(t, check.As[*dedup.InvalidError](t, <-owner).Field, "result")
		check.OK(t, <-follows)
		out := <-follower
		check.That(t, out.Omitted && time.Since(began) <= 0, "%+v after %v", out, time.Since(began))
		start := check.Get(d.TryStart(t.Context(), "b"))
		err := start.Attempt.Complete(t.Context(), "boom")
		check.Is(t, check.As[*dedup.InvalidError](t, err).Field, "result")
		check.Get(d.Once(t.Context(), "c", returns("bang")))
		_, err = d.Once(t.Context(), "c", returns("again"))
		check.That(t, check.As[*dedup.RowError](t, err).Field == "result", "%v", err)
	})
}

// mute is an error without a text.
type mute struct{ text *string }

func (m mute) Error() string { return *m.text }

// TestHookThatPanics: the panic goes on, the id is given back, and nobody who waits is stuck.
func TestHookThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := process(t, dedup.NewMemory(), &options{OnError: func(error) dedup.Failure { panic("hook") }})
		panics := func(do func()) {
			t.Helper()
			defer func() {
				check.Is(t, recover(), "hook", "panic")
			}()
			do()
		}
		release, over := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(over)
			panics(func() {
				_, _ = d.Once(t.Context(), "a", func(context.Context) (string, error) {
					<-release
					return "", errDown
				})
			})
		}()
		synctest.Wait()
		began := time.Now()
		errs := make(chan error, 1)
		go func() {
			out, err := d.Once(t.Context(), "a", answers("2"))
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
