package dedup

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/bounds"
	"github.com/streamsort/streamsort/internal/pause"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// Options are the parts of a [Deduplicator] that have defaults. A nil Options means all of them.
type Options[ID, R any] struct {
	// Lease is the longest that the effect may take: until it is over, nobody else runs it. 0 means
	// until half a second before the deadline of the context, as Lambda gives it, and 5 minutes
	// where the context has none. 10 ms to 24 hours.
	Lease time.Duration
	// TTL is how long an id is remembered, from its completion; 24 hours where it is 0, 1 second to
	// 10 years.
	TTL time.Duration
	// Wait is how long a call waits while another one runs the effect: at most Lease, or 24 hours
	// without one, and never into the last half second before the deadline of its context; [NoWait]
	// for not at all. It looks after 100 ms, 200 ms, 400 ms, and so on. 0 means 15 seconds or the
	// lease, and a first look when effects of this kind usually end, as far as this process knows,
	// and at most 2 seconds later: most callers need one.
	Wait time.Duration
	// Margin is the clock skew allowed between callers: a lease is over only that much later. 2
	// seconds where it is 0, 1 ms to 1 hour.
	Margin time.Duration
	// MaxAttempts is how often an id may be begun before it is quarantined, 1 to 1,000,000; 0 means
	// that it never is.
	MaxAttempts int
	// OnError says what becomes of an id when its effect fails; nil means Forget, whatever the
	// error.
	OnError func(error) Failure

	// CompressOver is the size in bytes from which results are compressed; 1,024 where it is 0, and
	// never where it is negative.
	CompressOver int
	// CacheSize is how many completed results of up to 32 KB this process remembers, so that their
	// duplicates cost nothing; 0 means none. What another process invalidates is answered from here
	// for CacheAge more; 1 minute where that is 0.
	CacheSize int
	CacheAge  time.Duration

	// Off switches deduplication off: every effect runs, and nothing is stored, for tests and
	// development.
	Off bool

	// Logger logs polls at DEBUG, outcomes of calls at INFO, and time-outs, lost claims and errors
	// at WARN. nil means no log.
	Logger *slog.Logger
	// Observe is called with each event; it may be nil.
	Observe func(context.Context, Event)
	// Trace is called as an operation begins (once, try_start, poll, invalidate), and the function
	// that it returns as it ends; nil means no tracing.
	Trace func(ctx context.Context, operation string, k Key) (context.Context, func(error))

	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Sleep waits, or returns the context's error; nil means a timer.
	Sleep func(context.Context, time.Duration) error
	// NewToken returns a token that no other call has; nil means random ones.
	NewToken func() Token
	// Random returns a number from 0 to below 1; nil means math/rand.
	Random func() float64
}

// Failure is what becomes of an id whose effect failed.
type Failure int

const (
	// Forget: the next call runs the effect again, until MaxAttempts.
	Forget Failure = iota
	// Remember: every later call gets the error; see [RememberedError].
	Remember
)

// NoWait as Options.Wait: a key that is held is a [StillRunningError] at once.
const NoWait time.Duration = -1

const (
	defaultLease        = 5 * time.Minute
	defaultTTL          = 24 * time.Hour
	defaultWait         = 15 * time.Second
	defaultMargin       = 2 * time.Second
	defaultCompressOver = 1024
	defaultCacheAge     = time.Minute
	// What a lease may be.
	shortestLease = 10 * time.Millisecond
	longestLease  = 24 * time.Hour
	// beforeDeadline is what is left of the caller's time after the lease: for storing the result.
	beforeDeadline = 500 * time.Millisecond
	// grace is how much longer than it is valid a row stays: longer than any request takes, plus
	// twice what clocks may be apart. A late copy of a claim must find the row, or fences would
	// fall back.
	grace = time.Hour
	// maxMessage bounds the errors and reasons that a row stores, so that it stays under 1 KB.
	maxMessage = 256
)

// withDefaults checks the options and fills in what is not given.
func (o Options[ID, R]) withDefaults() (Options[ID, R], error) {
	o.TTL, o.Margin = cmp.Or(o.TTL, defaultTTL), cmp.Or(o.Margin, defaultMargin)
	o.CacheAge = cmp.Or(o.CacheAge, defaultCacheAge)
	o.CompressOver = cmp.Or(o.CompressOver, defaultCompressOver)
	longestWait := cmp.Or(o.Lease, longestLease)
	if err := cmp.Or(
		bounds.Check("lease", cmp.Or(o.Lease, shortestLease), shortestLease, longestLease),
		bounds.Check("ttl", o.TTL, time.Second, 87600*time.Hour),
		bounds.Check("margin", o.Margin, time.Millisecond, time.Hour),
		bounds.Check("cacheAge", o.CacheAge, time.Millisecond, 24*time.Hour),
		bounds.Check("maxAttempts", o.MaxAttempts, 0, 1_000_000),
		bounds.Check("cacheSize", o.CacheSize, 0, 1_000_000),
	); err != nil {
		return o, err
	}
	if o.Wait < 0 && o.Wait != NoWait || o.Wait > longestWait {
		return o, invalid.New(invalid.OutOfRange, "wait",
			fmt.Sprintf("is %v: it must be NoWait, or at most the lease, %v", o.Wait, longestWait))
	}
	if o.OnError == nil {
		o.OnError = func(error) Failure { return Forget }
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = pause.For
	}
	if o.NewToken == nil {
		o.NewToken = func() (t Token) {
			_, _ = rand.Read(t[:]) // crypto/rand never fails: it ends the program instead
			return t
		}
	}
	if o.Random == nil {
		o.Random = mathrand.Float64
	}
	return o, nil
}

func shorten(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage-3], "") + "..."
}
