package secret

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/streamsort/streamsort/internal/strictjson"
)

// Bounds of what is remembered of a secret store.
const (
	// Lifetime is how long secrets are used without being fetched again.
	Lifetime = 5 * time.Minute
	// Interval is the least time between two fetches for signatures that none of the secrets made.
	Interval = 10 * time.Second
	// failedInterval is the least time between two fetches after one that failed.
	failedInterval = time.Second
)

// Bounds of a secret's value.
const (
	// MaxValues is how many secrets of one reference are valid at a time at most: two while one is
	// changed for the other.
	MaxValues = 4
	// MinBytes and MaxBytes bound the bytes of each.
	MinBytes, MaxBytes = 16, 1024
)

// Cache remembers what a secret store holds. Its methods may be called from any goroutine; those
// that need one secret wait for the same fetch.
type Cache struct {
	fetch func(context.Context, Reference) (string, error)
	now   func() time.Time
	mu    sync.Mutex
	held  map[Reference]*held
}

// NewCache returns a Cache that asks fetch for a value. now is the clock, and may go back: what was
// fetched later is fetched anew then.
func NewCache(fetch func(context.Context, Reference) (string, error), now func() time.Time) *Cache {
	// A process may be frozen for hours, in which its monotonic clock stands.
	wall := func() time.Time { return now().Round(0) }
	return &Cache{fetch: fetch, now: wall, held: map[Reference]*held{}}
}

type held struct {
	mu     sync.Mutex // of all that follows; a fetch is made under it
	values [][]byte
	// fetched is when values came, tried when they were last asked for.
	fetched, tried time.Time
	// err is why the last fetch failed.
	err error
}

// Try reports what a test says of the secrets that are valid at a time, the newest first where
// their store lists them so. Where it says no, the secrets are fetched again, unless that has been
// done within Interval: so one that was added is known at once, and forgeries cost no more than
// that. The error says why the secrets cannot be had, or is the test's; nothing may be accepted
// then, nor be refused for good.
func (s *Cache) Try(ctx context.Context, of Reference,
	test func(values [][]byte) (bool, error)) (bool, error) {
	s.mu.Lock()
	h := s.held[of]
	if h == nil {
		h = &held{}
		s.held[of] = h
	}
	s.mu.Unlock()

	h.mu.Lock()
	defer h.mu.Unlock()
	now := s.now()
	if !within(now, h.fetched, Lifetime) {
		h.values = nil
		if err := h.refresh(ctx, s.fetch, of, now, failedInterval); err != nil {
			return false, err
		}
		return h.passes(of, test)
	}
	passes, err := h.passes(of, test)
	if passes {
		return true, nil
	}
	if within(now, h.tried, Interval) {
		return false, cmp.Or(err, h.err)
	}
	if err := h.refresh(ctx, s.fetch, of, now, Interval); err != nil {
		return false, err
	}
	return h.passes(of, test)
}

// Values are the secrets that are valid at a time, as they were fetched within Lifetime.
func (s *Cache) Values(ctx context.Context, of Reference) (values [][]byte, err error) {
	_, err = s.Try(ctx, of, func(all [][]byte) (bool, error) {
		values = all
		return true, nil
	})
	return values, err
}

func (h *held) passes(of Reference, test func([][]byte) (bool, error)) (bool, error) {
	passes, err := test(h.values)
	if err != nil {
		return false, fmt.Errorf("secret %s: %w", of, err)
	}
	return passes, nil
}

func within(now, then time.Time, d time.Duration) bool {
	age := now.Sub(then)
	return age >= 0 && age < d
}

// refresh fetches the secrets, unless that has just failed.
func (h *held) refresh(ctx context.Context, fetch func(context.Context, Reference) (string, error),
	of Reference, now time.Time, pause time.Duration) error {
	if h.err != nil && within(now, h.tried, pause) {
		return h.err
	}
	h.tried = now
	text, err := fetch(ctx, of)
	var values [][]byte
	if err == nil {
		values, err = parseValues(text)
	}
	if h.err = err; err != nil {
		h.err = fmt.Errorf("secret %s: %w", of, err)
		return h.err
	}
	h.values, h.fetched = values, now
	return nil
}

// parseValues reads a secret's value: one secret, or a JSON list of those that are valid at a time.
// An error is a [ValueError].
func parseValues(text string) ([][]byte, error) {
	list := []string{strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")}
	if strictjson.IsArray([]byte(text)) {
		elements, err := strictjson.Elements([]byte(text), math.MaxInt)
		if err != nil {
			return nil, wrongValue("its value starts as a JSON list, and is not one")
		}
		list = nil
		for _, element := range elements {
			secret, err := strictjson.Text(element)
			if err != nil {
				return nil, wrongValue("its value is a JSON list with something else than strings")
			}
			list = append(list, secret)
		}
	}
	if len(list) < 1 || len(list) > MaxValues {
		return nil, wrongValue("its value has %d secrets: there must be from 1 to %d", len(list),
			MaxValues)
	}
	if _, err := strictjson.Members([]byte(text)); err == nil {
		// What the console of Secrets Manager makes: nobody signs with all of that.
		return nil, wrongValue("its value is a JSON object: it must be the secret alone, as plain text, or a JSON list of secrets")
	}
	values := make([][]byte, len(list))
	for i, secret := range list {
		if len(secret) < MinBytes || len(secret) > MaxBytes {
			return nil, wrongValue("secret %d of %d has not from %d to %d bytes", i+1, len(list), MinBytes,
				MaxBytes)
		}
		values[i] = []byte(secret)
	}
	return values, nil
}
