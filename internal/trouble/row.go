package trouble

import (
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/errtext"
	"github.com/streamsort/streamsort/pkg/table"
	"github.com/streamsort/streamsort/pkg/tenant"
)

// State is what a queue, or a consumer of it, is in.
type State string

const (
	// Gap: messages are missing, and the queue waits for them.
	Gap State = "gap"
	// Lagging: the oldest message that waits for the consumer is old.
	Lagging State = "lagging"
	// Blocked: a message failed as often as it may.
	Blocked State = "blocked"
	// Failing: a message failed as often as it may, and is tried on: it is not known to be bad.
	Failing State = "failing"
	// Paused: an operator paused the consumer.
	Paused State = "paused"
	// InDoubt: nobody knows whether a claim was committed.
	InDoubt State = "in-doubt"
	// Quarantined: claims stayed in doubt too long.
	Quarantined State = "quarantined"
	// Missing: the consumer's next message is not stored any more.
	Missing State = "missing"
	// Replying: the replies of a claim cannot be stored yet.
	Replying State = "replying"
	// CircuitOpen: nothing is delivered, because the consumer's sink is away. The rows of this
	// state are about names of consumers, and have no queue; those of [HeldBy] about queues.
	CircuitOpen State = "circuit-open"

	// Failed and TimedOut are how chains ended: the rows of these states have a chain's tag in the
	// place of the queue.
	Failed   State = "failed"
	TimedOut State = "timed-out"
)

// States are those of queues and consumers, ChainStates those of chains, in the order in which they
// are shown.
var (
	States = []State{Gap, Lagging, Blocked, Failing, Paused, InDoubt, Quarantined, Missing,
		Replying, CircuitOpen}
	ChainStates = []State{Failed, TimedOut}
)

// HeldBy is the state of the queues that the open circuit of a consumer's name holds back.
func HeldBy(consumer string) State { return CircuitOpen + State(" "+consumer) }

// Row says that a queue, a consumer of it, or a chain is in a state.
type Row struct {
	State           State
	Queue, Consumer string
	// Since is since when, to the millisecond.
	Since time.Time `ddb:"since"`
	// N rises with the consumer, the queue or the chains of a tag.
	N int64 `ddb:"n,optional"`
	// Seq is the message that is missing, or that the consumer gets next; 0 for chains and
	// circuits. To is the last message of a batch that failed as a whole; 0 where it has one.
	Seq int64 `ddb:"seq,omitzero"`
	To  int64 `ddb:"to,omitzero"`
	// Error is why that failed last, MaxError bytes at most; Shown is how many of these the queue's
	// tenant may read, 0 for all.
	Error string `ddb:"error,omitzero"`
	Shown int    `ddb:"shown,omitzero"`
	// ExpiresOn is when the row is deleted of itself, to the second; the zero time where it is not.
	// It may still be there for days.
	ExpiresOn time.Time `ddb:"expiresOn,omitzero,s"`
}

// Expired reports whether the row is one that only DynamoDB has not deleted yet.
func (r Row) Expired(now time.Time) bool {
	return !r.ExpiresOn.IsZero() && !now.Before(r.ExpiresOn)
}

// Like reports whether the other row says the same: of a consumer that fails the group of the error
// counts, so that an attempt after the first writes no row.
func (r Row) Like(o Row) bool {
	if r.State == Failing && o.State == Failing && r.Seq == o.Seq && r.To == o.To &&
		errtext.Group(r.Error) == errtext.Group(o.Error) {
		return true
	}
	return r == o
}

// MaxError is how many bytes of an error are in a row: as many as a consumer's item has, so that
// both are of one group.
const MaxError = 300

const layout = 1

// The attributes of a row.
const (
	attrVersion ddb.Path = "v"
	attrState   ddb.Path = "state"
	attrAt      ddb.Path = "at"
	attrSince   ddb.Path = "since"
	attrN       ddb.Path = "n"
	attrExpires ddb.Path = "expiresOn" // s, the TTL attribute
)

// DefaultName is the table's name where a stack has no other.
const DefaultName = "streamsort-trouble"

// Definition is that of the table. Rows of chains expire, and it has no stream.
func Definition(name string) table.Definition {
	return table.Definition{
		Name:      name,
		Partition: table.Key{Name: string(attrState), Type: table.String},
		Sort:      table.Key{Name: string(attrAt), Type: table.String},
		Index: table.Index{
			Name:      "age",
			Partition: table.Key{Name: string(attrState), Type: table.String},
			Sort:      table.Key{Name: string(attrSince), Type: table.Number},
		},
		TTL:    string(attrExpires),
		Layout: layout,
	}
}

// Place is where a row is among those of its state: a page begins behind one.
func (r Row) Place() string { return at(r.Queue, r.Consumer) }

// maxKey is the most bytes that a sort key has.
const maxKey = 1024

func at(queue, consumer string) string { return queue + " " + consumer }

// fits reports whether a row has a key: names may be too long together.
func fits(queue, consumer string) bool { return len(at(queue, consumer)) <= maxKey }

// SweepKey is the partition key of how far the sweep is in its passes over all queues, CountsKey
// that of an item for each minute, under when it begins: no state has a name that begins with a
// space.
const SweepKey, CountsKey State = " sweep", " counts"

// Key is the key of a row of a state, or of what others store beside the rows: under a state that
// begins with a space, or with "quota ".
func Key(state State, at string) ddb.Item {
	return ddb.Fields{attrState: partition(state, shardOf(at)), attrAt: ddb.Text(at)}.Item()
}

var codec = ddb.NewCodec[Row]("row", layout, 0)

func encode(r Row) ddb.Item {
	place := r.Place()
	return codec.Item(&r, attrState.Set(partition(r.State, shardOf(place))),
		attrAt.Set(ddb.Text(place)))
}

// decode reads a row, or an entry of the index, which has the keys only.
func decode(it ddb.Item) (Row, error) {
	return codec.Decode(it, func(r *Row, d *ddb.Decoder) {
		if it.Has(attrVersion) {
			d.Layout(attrVersion, layout)
		}
		name := d.Text(attrAt)
		space := strings.LastIndexByte(name, ' ')
		if space < 0 {
			d.Fail(attrAt, "has no space")
			return
		}
		state, _, _ := strings.Cut(d.Text(attrState), "/") // its shard
		r.State, r.Queue, r.Consumer = State(state), name[:space], name[space+1:]
	})
}

// shards is over how many partitions the rows of tenants in a state are spread, by a hash of the
// tenant, beside that of the rows of no tenant: so many notes of one tenant throttle those of an
// eighth of the others at most. A reader of all asks each.
const shards = 8

// partition is the partition key of a state's shard; no state has a slash. Shard 0 is that of no
// tenant.
func partition(state State, shard int) ddb.Value {
	if shard == 0 {
		return ddb.Text(string(state))
	}
	return ddb.Text(string(state) + "/" + strconv.Itoa(shard))
}

func shardOf(at string) int {
	of, _ := tenant.Split(at)
	if of == "" {
		return 0
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(of)) // it never fails
	return 1 + int(hash.Sum32()%shards)
}

// shardsOf are the shards that may have rows of a state whose queues' names begin with a prefix:
// one where the prefix tells the tenant.
func shardsOf(state State, prefix string) []int {
	of, _ := tenant.Split(prefix + "x")
	if state == CircuitOpen || of != "" || prefix != "" && prefix[0] != '@' {
		return []int{shardOf(prefix + "x")}
	}
	all := make([]int, shards+1)
	for i := range all {
		all[i] = i
	}
	return all
}
