package dedup

import (
	"context"
	"crypto/rand"
	"log/slog"
	mathrand "math/rand/v2"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/pause"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// Options are the parts of a [Deduplicator] that have defaults. A nil Options
// means all of them.
type Options[ID, R any] struct {
	// Lease is the longest that the effect may take: until it is over, nobody
	// else runs it. 0 means until half a second before the deadline of the
	// context, as Lambda gives it, and 5 minutes where the context has none. 10
	// ms to 24 hours.
	Lease time.Duration
	// TTL is how long an id is remembered, from its completion; 24 hours where
	// it is 0, 1 second to 10 years. KeepForever remembers it for ever, without
	// a TTL.
	TTL         time.Duration
	KeepForever bool
	// ResultTTL is how long the result is remembered, where that is shorter; 1
	// second to the TTL. Afterwards a duplicate learns that the effect is done,
	// without its result. 0 means as long as the id.
	ResultTTL time.Duration
	// Poll is how a caller waits while another one runs the effect: no longer
	// than Lease, and never into the last half second before the deadline of its
	// context. The zero Poll means Exponential(100 ms, 2, 15 s), shortened to the
	// lease, whose first look comes when effects of this kind usually end, as far
	// as this process knows, and at most 2 seconds later: most callers need one.
	Poll Poll
	// Margin is the clock skew allowed between callers: a lease is over only that
	// much later. 2 seconds where it is 0, 1 ms to 1 hour.
	Margin time.Duration
	// MaxAttempts is how often an id may be begun before it is quarantined, 1
	// to 1,000,000; 0 means that it never is.
	MaxAttempts int
	// OnError says what becomes of an id when its effect fails; nil means
	// Forget, whatever the error.
	OnError func(error) Failure
	// OnReplay may change a remembered result before a duplicate gets it, or
	// refuse it with an error.
	OnReplay func(context.Context, Outcome[R]) (Outcome[R], error)

	// KeyOf makes the text of an id; nil means the id as it is where it is a
	// string, its text where it is an encoding.TextMarshaler, and what the codec
	// makes of it otherwise.
	KeyOf func(ID) (string, error)
	// KeyPrefix comes before each id: up to 1,023 bytes of UTF-8, and up to
	// 1,024 with the id.
	KeyPrefix string
	// Codec encodes results; nil means JSON.
	Codec Codec
	// CompressOver is the size in bytes from which results are compressed;
	// 1,024 where it is 0, and never where it is negative.
	CompressOver int
	// Overflow takes results that are too large for an item (about 390 KB);
	// where it is nil, they are omitted.
	Overflow Overflow
	// CacheSize is how many completed results of up to 32 KB this process
	// remembers, so that their duplicates cost nothing; 0 means none. What
	// another process invalidates is answered from here for CacheAge more; 1
	// minute where that is 0.
	CacheSize int
	CacheAge  time.Duration

	// Off switches deduplication off: every effect runs, and nothing is stored, for
	// tests and development. Package deduplambda has the variable by which Powertools does.
	Off bool

	// Logger logs polls at DEBUG, outcomes of calls at INFO, and time-outs, lost
	// claims and errors at WARN. nil means no log.
	Logger *slog.Logger
	// Observe is called with each event; it may be nil. See the Metrics of package
	// deduplambda.
	Observe func(context.Context, Event)
	// Trace is called as an operation begins (once, try_start, poll,
	// invalidate), and the function that it returns as it ends; nil means no
	// tracing.
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

// Overflow is a store for large results, such as a bucket. Put is given each
// key once, or again with the same body. A key is 45 bytes of a-z, 0-9, '/' and
// '-'; nobody deletes what expires: give the bucket a lifecycle rule that is
// longer than TTL. Where Get fails, so does the call, without running the effect.
//
// Once gives Put and the table 5 seconds together: a Put that takes longer is a
// [NotRememberedError], and the effect runs again after the lease. Where that is
// too short, take TryStart, whose Complete has its caller's time.
type Overflow interface {
	Put(ctx context.Context, key string, body []byte) error
	Get(ctx context.Context, key string) ([]byte, error)
}

const (
	defaultLease        = 5 * time.Minute
	defaultTTL          = 24 * time.Hour
	defaultMargin       = 2 * time.Second
	defaultCompressOver = 1024
	defaultCacheAge     = time.Minute
	// What a lease may be.
	shortestLease = 10 * time.Millisecond
	longestLease  = 24 * time.Hour
	// beforeDeadline is what is left of the caller's time after the lease: for
	// storing the result.
	beforeDeadline = 500 * time.Millisecond
	// grace is how much longer than it is valid a row stays: longer than any
	// request takes, plus twice what clocks may be apart. A late copy of a
	// claim must find the row, or fences would fall back.
	grace = time.Hour
	// maxMessage bounds the errors and reasons that a row stores, so that it
	// stays under 1 KB.
	maxMessage = 256
)

// withDefaults checks the options and fills in what is not given.
func (o Options[ID, R]) withDefaults() (Options[ID, R], error) {
	if o.KeepForever && o.TTL != 0 {
		return o, &InvalidError{Field: "ttl", Code: invalid.Clash, Problem: "must be 0 where keepForever is set"}
	}
	for _, bound := range []struct {
		field       string
		value       *time.Duration
		otherwise   time.Duration
		least, most time.Duration
	}{
		{"lease", &o.Lease, 0, shortestLease, longestLease},
		{"ttl", &o.TTL, defaultTTL, time.Second, 87600 * time.Hour},
		{"resultTTL", &o.ResultTTL, 0, time.Second, 87600 * time.Hour},
		{"margin", &o.Margin, defaultMargin, time.Millisecond, time.Hour},
		{"cacheAge", &o.CacheAge, defaultCacheAge, time.Millisecond, 24 * time.Hour},
	} {
		switch v := *bound.value; {
		case v == 0:
			*bound.value = bound.otherwise
		case v < bound.least || v > bound.most:
			return o, &InvalidError{Field: bound.field, Code: invalid.OutOfRange, Problem: "must be from " + bound.least.String() + " to " + bound.most.String()}
		}
	}
	if o.ResultTTL > o.TTL && !o.KeepForever {
		return o, &InvalidError{Field: "resultTTL", Code: invalid.OutOfRange, Problem: "must be at most the ttl, " + o.TTL.String()}
	}
	if o.KeyPrefix != "" {
		// At least one byte is left for the id.
		if err := checkName("keyPrefix", o.KeyPrefix, maxID-1); err != nil {
			return o, err
		}
	}
	if o.MaxAttempts < 0 || o.MaxAttempts > 1_000_000 {
		return o, &InvalidError{Field: "maxAttempts", Code: invalid.OutOfRange, Problem: "must be from 0 to 1000000"}
	}
	if o.CacheSize < 0 || o.CacheSize > 1_000_000 {
		return o, &InvalidError{Field: "cacheSize", Code: invalid.OutOfRange, Problem: "must be from 0 to 1000000"}
	}
	if err := o.Poll.validate(o.Lease); err != nil {
		return o, err
	}
	if !o.Poll.set {
		o.Poll = defaultPoll()
		if o.Lease > 0 {
			o.Poll.most = min(o.Poll.most, o.Lease)
			o.Poll.delay = min(o.Poll.delay, o.Poll.most)
		}
	}
	if o.CompressOver == 0 {
		o.CompressOver = defaultCompressOver
	}
	if o.Codec == nil {
		o.Codec = jsonCodec{}
	}
	if name := o.Codec.Name(); name == "" || len(name) > 32 || strings.Contains(name, "+") {
		return o, &InvalidError{Field: "codec", Code: invalid.Malformed, Problem: "must have a name of 1 to 32 bytes without '+'"}
	}
	if o.OnError == nil {
		o.OnError = func(error) Failure { return Forget }
	}
	if o.KeyOf == nil {
		codec := o.Codec
		o.KeyOf = func(id ID) (string, error) { return idText(codec, id) }
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
		o.NewToken = randomToken
	}
	if o.Random == nil {
		o.Random = mathrand.Float64
	}
	return o, nil
}

func randomToken() Token {
	var t Token
	// crypto/rand never fails: it ends the program instead.
	_, _ = rand.Read(t[:])
	return t
}

// shorten bounds a message to what a row stores.
func shorten(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage-3], "") + "..."
}
