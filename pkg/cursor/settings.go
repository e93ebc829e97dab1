package cursor

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/bounds"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// Policy is what happens to a gap that stays open.
type Policy string

const (
	// PolicyWait waits for the missing messages for ever. A gap shows in the queue's status and in
	// the metrics, and is not announced.
	PolicyWait Policy = "wait"
	// PolicySkip writes tombstones into a gap that is older than GapAfter, and goes on. A message
	// that arrives in that very moment wins.
	PolicySkip Policy = "skip"
	// PolicyAlert announces a gap that is older than GapAfter, and waits on.
	PolicyAlert Policy = "alert"
)

// Mode is who moves a queue's cursor.
type Mode string

const (
	// ModeSync: the producer's own call stores the message and moves the cursor.
	ModeSync Mode = "sync"
	// ModeAsync: the producer only stores; the handler of the messages' stream moves the cursor,
	// once a batch.
	ModeAsync Mode = "async"
)

// Kind is what orders a queue's messages. It is fixed when the queue is made.
type Kind string

const (
	// KindNumbered: the producers number the messages, and the queue waits for those that are
	// missing. It is the zero Kind.
	KindNumbered Kind = ""
	// KindArrival: the queue numbers the messages as they arrive: see [Sorter.Put]. It has no gaps,
	// so Policy, GapAfter, MaxAhead and Mode mean nothing there.
	KindArrival Kind = "arrival"
	// KindKeyed: the queue sorts the messages by a key that has gaps, such as a time: see
	// [Sorter.Put]. Policy, GapAfter, MaxAhead and Mode mean nothing there.
	KindKeyed Kind = "keyed"
)

// String is the kind's name: numbered, arrival or keyed.
func (k Kind) String() string {
	if k == KindNumbered {
		return "numbered"
	}
	return string(k)
}

func parseKind(text string) (Kind, error) {
	for _, k := range []Kind{KindNumbered, KindArrival, KindKeyed} {
		if text == k.String() {
			return k, nil
		}
	}
	return "", outOfBounds("kind", invalid.Unknown, text, "numbered, arrival or keyed")
}

func outOfBounds(name string, code invalid.Code, value any, must string) error {
	if text, is := value.(string); is {
		value = fmt.Sprintf("%.100q", text)
	}
	return invalid.New(code, name, fmt.Sprintf("is %v: it must be %s", value, must))
}

// fixed is the error of a setting that the queue was created with.
func fixed(name string, value, there any) error {
	return &InvalidError{Field: name, Code: invalid.Clash, Err: ErrFixed, Problem: fmt.Sprintf(
		"is %v: that of the queue is %v, which is fixed when the queue is made: leave %s out, or use another queue", value, there, name)}
}

// LatePolicy is what becomes of a message of a keyed queue that comes too late: when one with a
// greater key has its place already.
type LatePolicy string

const (
	// LateDeliver hands it on, marked as late, behind what is placed.
	LateDeliver LatePolicy = "deliver"
	// LateDrop drops it, where its key is less than one that is placed.
	LateDrop LatePolicy = "drop"
)

// Bounds of the settings.
const (
	minMaxAhead  = 1
	MaxMaxAhead  = 10_000_000
	MinGapAfter  = time.Second
	MaxGapAfter  = 365 * 24 * time.Hour
	MinRetention = 4 * time.Hour
	MaxRetention = 10 * 365 * 24 * time.Hour
	MaxSettle    = time.Hour
	minKeyAhead  = time.Second
	maxKeyAhead  = MaxRetention
)

// Settings are a queue's own. They are written into its cursor when the queue is made, from the
// defaults of the [Sorter] that makes it, and can be changed later by [Sorter.Configure], all but
// First and Kind.
type Settings struct {
	// First is the seq that the queue starts with, from 0 to MaxSeq.
	First int64 `ddb:"first"`
	// Policy is what happens to a gap that stays open.
	Policy Policy `ddb:"policy"`
	// GapAfter is the age from which PolicySkip and PolicyAlert act: 1 second to 365 days, stored
	// in milliseconds.
	GapAfter time.Duration `ddb:"gapAfter"`
	// MaxAhead is how far beyond the position a message may be, from 1 to 10,000,000; one that is
	// farther gets Full. It bounds how much can be parked, and how many tombstones one gap can
	// need.
	MaxAhead int64 `ddb:"maxAhead"`
	// Mode is who moves the cursor.
	Mode Mode `ddb:"mode"`
	// Kind is what orders the messages. A queue that a put makes is of the kind that the put is
	// for, whatever the Sorter's defaults say.
	Kind Kind
	// KeyType is what the keys of a keyed queue are. It is empty in another queue, and so are the
	// next three.
	KeyType sortkey.KeyType `ddb:"keyType,omitzero"`
	// Settle is how long a message waits for those with lesser keys: 0 to an hour, stored in
	// milliseconds.
	Settle time.Duration `ddb:"settle,omitzero"`
	// Late is what becomes of a message that comes later than that; LateDeliver where it is empty.
	Late LatePolicy `ddb:"late,omitzero"`
	// ClockAhead is how far a time in a key may be ahead of the clock: 1 second to 10 years, kept
	// in milliseconds. One key of 2099 would make all that follow late. It is 0 where no part of
	// the keys is a time.
	ClockAhead time.Duration `ddb:"clockAhead,omitzero"`
}

// DefaultSettings are the settings of a queue where nobody says otherwise: first seq 1, wait, 5
// minutes, 100,000 ahead, synchronous; in a keyed queue, settled after 5 seconds, what is late is
// delivered, and times are at most 24 hours ahead.
func DefaultSettings() Settings {
	return Settings{
		First: 1, Policy: PolicyWait, GapAfter: 5 * time.Minute, MaxAhead: 100_000, Mode: ModeSync,
		Settle: 5 * time.Second, Late: LateDeliver, ClockAhead: 24 * time.Hour,
	}
}

// ofKind are the settings of a queue that is made with them, without those that one of their kind
// has not.
func (s Settings) ofKind() Settings {
	if s.Kind != KindKeyed {
		s.KeyType, s.Settle, s.Late, s.ClockAhead = "", 0, "", 0
		return s
	}
	s.Late = cmp.Or(s.Late, LateDeliver)
	if s.ClockAhead = cmp.Or(s.ClockAhead, DefaultSettings().ClockAhead); !s.KeyType.Timed() {
		s.ClockAhead = 0
	}
	return s
}

// checkNew reports what is missing for a queue to be made, or is given too much.
func (s Settings) checkNew(change Change) error {
	switch {
	case s.Kind == KindKeyed && s.KeyType == "":
		return invalid.New(invalid.Missing, "keyType",
			"is missing: a keyed queue is made with the type of its keys, such as time")
	case s.Kind != KindKeyed:
		return change.checkUnkeyed()
	}
	return change.checkAhead(s)
}

// checkAhead reports a bound of times for keys that have none.
func (c Change) checkAhead(s Settings) error {
	if c.ClockAhead != nil && !s.KeyType.Timed() {
		return invalid.New(invalid.Misplaced, "clockAhead", "must not be given: only queues whose keys have a time in them have it: leave it out")
	}
	return nil
}

// checkUnkeyed reports a setting that only keyed queues have.
func (c Change) checkUnkeyed() error {
	for _, one := range settings {
		if one.keyed && one.given(c) {
			return invalid.New(invalid.Misplaced, one.name,
				"must not be given: only queues of the kind keyed have it: leave it out")
		}
	}
	return nil
}

// validate reports the first setting that is out of its bounds.
func (s Settings) validate() error {
	change := Change{
		First: &s.First, Policy: &s.Policy, GapAfter: &s.GapAfter, MaxAhead: &s.MaxAhead, Mode: &s.Mode,
		Kind: &s.Kind, Settle: &s.Settle,
	}
	if s.Late != "" {
		change.Late = &s.Late
	}
	return change.validate()
}

// Change is a change of a queue's settings: nil keeps what is there.
type Change struct {
	First      *int64
	Policy     *Policy        `ddb:"policy,omitzero"`
	GapAfter   *time.Duration `ddb:"gapAfter,omitzero"`
	MaxAhead   *int64         `ddb:"maxAhead,omitzero"`
	Mode       *Mode          `ddb:"mode,omitzero"`
	Kind       *Kind
	KeyType    *sortkey.KeyType
	Settle     *time.Duration `ddb:"settle,omitzero"`
	Late       *LatePolicy    `ddb:"late,omitzero"`
	ClockAhead *time.Duration `ddb:"clockAhead,omitzero"`
}

// validate reports the first setting that is out of its bounds.
func (c Change) validate() error {
	if c.First != nil && *c.First < 0 {
		return outOfBounds("first", invalid.OutOfRange, *c.First, firstBounds)
	}
	var kind error
	if c.Kind != nil {
		_, kind = parseKind(c.Kind.String())
	}
	return cmp.Or(
		checkOne("policy", c.Policy, "wait, skip or alert", PolicyWait, PolicySkip, PolicyAlert),
		checkGiven("gapAfter", c.GapAfter, MinGapAfter, MaxGapAfter),
		checkGiven("maxAhead", c.MaxAhead, minMaxAhead, MaxMaxAhead),
		checkGiven("settle", c.Settle, 0, MaxSettle),
		checkGiven("clockAhead", c.ClockAhead, minKeyAhead, maxKeyAhead),
		checkOne("mode", c.Mode, "sync or async", ModeSync, ModeAsync),
		kind,
		checkOne("late", c.Late, "deliver or drop", LateDeliver, LateDrop),
	)
}

// checkOne checks that a value is one of these, where one is given.
func checkOne[T ~string](field string, given *T, must string, known ...T) error {
	if given == nil || slices.Contains(known, *given) {
		return nil
	}
	return outOfBounds(field, invalid.Unknown, string(*given), must)
}

// checkGiven checks a value where one is given.
func checkGiven[T cmp.Ordered](field string, given *T, least, most T) error {
	if given == nil {
		return nil
	}
	return bounds.Check(field, *given, least, most)
}

// setting is one of the settings, by the name under which callers, configurations and tables have
// it.
type setting struct {
	name string
	// keyed: only keyed queues have it.
	keyed bool
	// value reads it: an int64, a duration or a string.
	value func(Settings) any
	// set reads a text of its value, whatever its bounds.
	set func(c *Change, text string) error
	// given reports whether a change has it, change makes that.
	given  func(Change) bool
	change func(*Settings, Change)
}

// settingOf is the setting that is at a place of the settings, and of a change.
func settingOf[T any](name string, keyed bool, parse func(text string) (T, error),
	at func(*Settings) *T, in func(*Change) **T) setting {
	return setting{
		name: name, keyed: keyed,
		value: func(s Settings) any {
			switch v := any(*at(&s)).(type) {
			case int64, time.Duration:
				return v
			default:
				return fmt.Sprint(v)
			}
		},
		set: func(c *Change, text string) error {
			value, err := parse(text)
			*in(c) = &value
			return err
		},
		given: func(c Change) bool { return *in(&c) != nil },
		change: func(s *Settings, c Change) {
			if given := *in(&c); given != nil {
				*at(s) = *given
			}
		},
	}
}

var settings = []setting{
	settingOf("kind", false, parseKind,
		func(s *Settings) *Kind { return &s.Kind }, func(c *Change) **Kind { return &c.Kind }),
	settingOf("first", false, parseInteger(firstBounds),
		func(s *Settings) *int64 { return &s.First }, func(c *Change) **int64 { return &c.First }),
	settingOf("policy", false, asText[Policy],
		func(s *Settings) *Policy { return &s.Policy }, func(c *Change) **Policy { return &c.Policy }),
	settingOf("gapAfter", false, parseDuration,
		func(s *Settings) *time.Duration { return &s.GapAfter },
		func(c *Change) **time.Duration { return &c.GapAfter }),
	settingOf("maxAhead", false, parseInteger(maxAheadBounds),
		func(s *Settings) *int64 { return &s.MaxAhead }, func(c *Change) **int64 { return &c.MaxAhead }),
	settingOf("mode", false, asText[Mode],
		func(s *Settings) *Mode { return &s.Mode }, func(c *Change) **Mode { return &c.Mode }),
	settingOf("keyType", true, sortkey.ParseKeyType,
		func(s *Settings) *sortkey.KeyType { return &s.KeyType },
		func(c *Change) **sortkey.KeyType { return &c.KeyType }),
	settingOf("settle", true, parseDuration, func(s *Settings) *time.Duration { return &s.Settle },
		func(c *Change) **time.Duration { return &c.Settle }),
	settingOf("late", true, asText[LatePolicy],
		func(s *Settings) *LatePolicy { return &s.Late },
		func(c *Change) **LatePolicy { return &c.Late }),
	settingOf("clockAhead", true, parseDuration,
		func(s *Settings) *time.Duration { return &s.ClockAhead },
		func(c *Change) **time.Duration { return &c.ClockAhead }),
}

func asText[T ~string](text string) (T, error) { return T(text), nil }

const (
	maxAheadBounds = "an integer from 1 to 10000000"
	firstBounds    = "an integer from 0 to 9223372036854775807, in plain digits"
)

func parseInteger(must string) func(text string) (int64, error) {
	return func(text string) (int64, error) {
		n, err := ParseSeq(text)
		if err != nil {
			err = outOfBounds("", invalid.Named("", err).Code, text, must)
		}
		return n, err
	}
}

func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, outOfBounds("", invalid.Malformed, text, `a duration such as "90s", "5m" or "48h"`)
	}
	return d, nil
}

// All are the settings of a queue by their names, each an int64, a time.Duration or a string.
func (s Settings) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for _, of := range settings {
			if of.keyed && s.Kind != KindKeyed || of.name == "clockAhead" && !s.KeyType.Timed() {
				continue
			}
			if !yield(of.name, of.value(s)) {
				return
			}
		}
	}
}

// Set changes the setting of a name, as [Settings.All] has it, to what the text says. An unknown
// name, and a text that cannot be read, are an [InvalidError]; whether the value is within its
// bounds is checked where the change is applied.
func (c *Change) Set(name, text string) error {
	names := make([]string, len(settings))
	for i, of := range settings {
		if of.name != name {
			names[i] = of.name
			continue
		}
		if err := of.set(c, text); err != nil {
			return invalid.Named(name, err)
		}
		return nil
	}
	last := len(names) - 1
	return invalid.New(invalid.Unknown, name, "is not a setting: "+strings.Join(names[:last], ", ")+
		" and "+names[last]+" are")
}

// With is s with the changes made.
func (s Settings) With(c Change) Settings {
	for _, one := range settings {
		one.change(&s, c)
	}
	return s
}
