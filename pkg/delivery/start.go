package delivery

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/bounds"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// Start is where a consumer begins. The zero Start is First.
type Start struct {
	latest bool
	at     bool
	seq    int64
	// kind is that of the queue, where it is said.
	kind *cursor.Kind
	// there tells that a missing queue is not created.
	there bool
}

// First begins with the oldest message that is stored. Latest begins behind the position: with what
// comes next.
var (
	First  = Start{}
	Latest = Start{latest: true}
)

// At begins with the message of a seq.
func At(seq int64) Start { return Start{at: true, seq: seq} }

// parseStart reads "first", "latest" or a seq; an empty text is First.
func parseStart(text string) (Start, error) {
	switch text {
	case "", "first":
		return First, nil
	case "latest":
		return Latest, nil
	}
	seq, err := cursor.ParseSeq(text)
	if err != nil {
		wrong := invalid.Named("start", err)
		wrong.Problem += ", or first, or latest"
		return Start{}, wrong
	}
	return At(seq), nil
}

// UnmarshalJSON implements [json.Unmarshaler]: "first", "latest", or a seq, as a number or a
// string.
func (s *Start) UnmarshalJSON(raw []byte) (err error) {
	text := string(raw)
	if strings.HasPrefix(text, `"`) {
		err = json.Unmarshal(raw, &text)
	}
	if err != nil || text == "" {
		return invalid.New(invalid.Malformed, "",
			fmt.Sprintf("must be first, latest or a seq: it is %.40s", raw))
	}
	if *s, err = parseStart(text); err != nil {
		return invalid.Named("", err)
	}
	return nil
}

// String is the Start as parseStart reads it.
func (s Start) String() string {
	switch {
	case s.latest:
		return "latest"
	case s.at:
		return strconv.FormatInt(s.seq, 10)
	}
	return "first"
}

// Create makes a consumer of a queue, or returns the one that is there. A queue that has no cursor
// yet gets a numbered one. At a seq of which the messages are gone, or that is beyond the next one
// to come, it is an InvalidError.
//
// The consumer begins as near to start as what is stored allows: everything behind the Delivered
// that is returned is there, and kept from expiring.
//
// Where much lies behind the place, the time may be up before all of that is sure: the consumer
// that is returned is Starting then. Deliveries, claims, the sweep, and another Create go on with
// it.
//
// 2 writes and 4 reads, a read and a write more for each 1,000 messages or 1 MB behind the place, a
// write more for each message whose expiry is near, and a write more where the queue has been
// quiet.
func (d *Deliverer) Create(ctx context.Context, queue, name string, start Start) (Consumer, error) {
	return d.create(ctx, queue, name, start, d.newReq())
}

func (d *Deliverer) create(ctx context.Context, queue, name string, start Start,
	op string) (Consumer, error) {
	if err := validate(queue, name); err != nil {
		return Consumer{}, err
	}
	it, err := d.sorter.Status(ctx, queue)
	if errors.Is(err, cursor.ErrNoQueue) && !start.there {
		if start.at && start.seq != d.sorter.Defaults().First {
			// Nothing is made for a start that is refused: the queue's kind, once it is made,
			// stays.
			return Consumer{}, invalid.New(invalid.OutOfRange, "start", fmt.Sprintf(
				"is %d: the queue has no message yet, and will begin at %d", start.seq,
				d.sorter.Defaults().First))
		}
		if start.kind != nil && *start.kind == cursor.KindKeyed {
			return Consumer{}, &cursor.InvalidError{Field: "kind", Code: invalid.Misplaced, Problem: "must not be keyed: the queue is not there, and is made with the type of its keys first", Queue: queue}
		}
		it, err = d.sorter.Configure(ctx, queue, cursor.Change{Kind: start.kind})
	}
	if err == nil && start.kind != nil && it.Settings.Kind != *start.kind {
		_, err = d.sorter.Configure(ctx, queue, cursor.Change{Kind: start.kind})
	}
	if err != nil {
		return Consumer{}, err
	}
	delivered, err := d.place(ctx, it, start)
	if err != nil {
		return Consumer{}, err
	}
	if err := d.keepAwake(ctx, it); err != nil {
		return Consumer{}, err
	}
	c, _, err := d.store.CreateConsumer(ctx, Consumer{
		Queue: queue, Name: name, State: Idle, Delivered: delivered,
		Progress: Progress{From: delivered, To: delivered}, Control: Control{Starting: op, LastOp: op},
	})
	if err != nil || c.Starting == "" {
		return c, err
	}
	return d.finishStart(ctx, c)
}

func validate(queue, name string) error {
	return cmp.Or(cursor.ValidateQueue(queue), ValidateConsumer(name))
}

const maxConsumerName = 128

// ValidateConsumer reports a consumer's name that cannot be used: it has 1 to 128 of a-z, A-Z, 0-9,
// '.', '-' and '_'.
func ValidateConsumer(name string) error {
	if len(name) == 0 || len(name) > maxConsumerName {
		return invalid.New(invalid.TextCode(name, maxConsumerName), "consumer",
			fmt.Sprintf("has %d bytes: it must have 1 to %d", len(name), maxConsumerName))
	}
	for i := range len(name) {
		switch b := name[i]; {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9',
			b == '.', b == '-', b == '_':
		default:
			return invalid.New(invalid.Malformed, "consumer", "must be of a-z, A-Z, 0-9, '.', '-' and '_'")
		}
	}
	return nil
}

// place is the Delivered that a start means. The position in it was read before what is stored is
// looked at: what is deleted meanwhile lies below.
func (d *Deliverer) place(ctx context.Context, it cursor.Cursor, start Start) (int64, error) {
	switch {
	case start.latest:
		return it.Position, nil
	case start.at:
		return start.seq - 1, bounds.Check("start", start.seq, it.Floor+1, it.Position+1)
	}
	oldest, found, err := d.sorter.Inside(queuelog.Inside{}).Oldest(ctx, it.Queue)
	if err != nil {
		return 0, err
	}
	if !found {
		return max(it.Floor, it.Position), nil
	}
	return max(it.Floor, min(oldest.Seq-1, it.Position)), nil
}

// awake is how long after a queue moved, or was notified, the sweep is sure to look at its
// consumers again: see Sweep.
const awake = 5 * time.Minute

// keepAwake makes sure that the sweep looks at the queue's consumers soon. It comes before a write
// that makes one lag behind a queue that is quiet: dying right after that write leaves no other
// trace.
func (d *Deliverer) keepAwake(ctx context.Context, it cursor.Cursor) error {
	since := d.now().Add(-awake)
	if it.MovedAt.After(since) || it.Notified.After(since) {
		return nil
	}
	return d.sorter.Notify(ctx, it.Queue)
}

// turn is how long a queue keeps a caller that works for several at most: what is left then is gone
// on with when it is woken up again.
const turn = 10 * time.Second

// finishStart makes sure that everything behind the consumer's place is there and stays, and lets
// claims be made. Anybody may do it, at any time: the sweep does where the one who began it died.
//
// It does so piece by piece, and notes with the consumer how far it is. Where its turn, or the
// time, is over before that is done, the consumer that it returns is still Starting, and the next
// caller goes on.
func (d *Deliverer) finishStart(ctx context.Context, c Consumer) (Consumer, error) {
	return d.start(ctx, c, d.now().Add(turn))
}

// start is finishStart in a turn that is over at this time.
func (d *Deliverer) start(ctx context.Context, c Consumer, until time.Time) (Consumer, error) {
	// From here on the sweep sees the consumer, and keeps what it needs. What was deleted before
	// shows in the floor, and in what is missing.
	it, err := d.sorter.Status(ctx, c.Queue)
	if err != nil {
		return c, err
	}
	// The process that began the start may have slept since then.
	if err := d.keepAwake(ctx, it); err != nil {
		return c, err
	}
	after, upTo := max(c.Delivered, it.Floor), it.Position
	if c.KeptFrom > 0 {
		upTo = c.KeptFrom - 1
	}
	for {
		kept, err := d.sorter.Inside(queuelog.Inside{}).KeepBack(ctx, c.Queue, after, upTo)
		if err != nil {
			return c, err
		}
		if !kept.More {
			found, done, err := d.store.FinishStart(ctx, c.Queue, c.Name, c.Starting, kept.To)
			if err == nil && !done {
				err = errOutran
			}
			return found, err
		}
		found, under, err := d.store.KeepStart(ctx, c.Queue, c.Name, c.Starting, kept.To+1)
		switch {
		case err != nil:
			return c, err
		case !under:
			return found, errOutran
		case !d.hasTime(ctx, until, d.margin):
			return found, nil
		}
		c, upTo = found, found.KeptFrom-1
	}
}

// hasTime reports whether a turn is not over yet, and more than this time is left to the context.
// The zero time ends no turn.
func (d *Deliverer) hasTime(ctx context.Context, until time.Time, left time.Duration) bool {
	if !until.IsZero() && !d.now().Before(until) {
		return false
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		return ctx.Err() == nil
	}
	return deadline.Sub(d.now()) > left
}
