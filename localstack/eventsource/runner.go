package eventsource

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/streamsort/streamsort/localstack/template"
)

// Streams is the part of the DynamoDB Streams API that a runner calls. A
// *dynamodbstreams.Client is one. It is called from several goroutines.
type Streams interface {
	DescribeStream(context.Context, *dynamodbstreams.DescribeStreamInput,
		...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error)
	GetShardIterator(context.Context, *dynamodbstreams.GetShardIteratorInput,
		...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error)
	GetRecords(context.Context, *dynamodbstreams.GetRecordsInput,
		...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error)
}

// Invoke calls the function with an event and waits for it.
//
// A function that ran and failed (an error it returned, a crash, a time-out) is a functionError,
// such as "Unhandled"; this uses up retries and bisects. err is for a function that did not run,
// throttled for one; this is tried again until the records are too old. The context is never
// cancelled, so Invoke has to end by the function's own time-out. It is called from several
// goroutines.
type Invoke func(ctx context.Context,
	payload []byte) (response []byte, functionError string, err error)

// Config is what a runner needs besides its mapping.
type Config struct {
	// Streams reads the stream.
	Streams Streams
	// StreamARN is the stream as the DynamoDB server names it.
	StreamARN string
	// Invoke calls the function.
	Invoke Invoke
	// OnFailure takes a message about discarded records, where the mapping has a queue for them.
	OnFailure func(queue string, message []byte)
	// Chaos is for tests.
	Chaos Chaos
	// Logger gets what goes wrong.
	Logger *slog.Logger
}

const (
	// pollInterval is the pause after a poll that found records. (Lambda polls "at a base rate of 4
	// times per second", with-ddb.html.) It grows to idlePollInterval, doubling, while polls find
	// nothing; a poll of dynoxide costs the more the more was ever written.
	pollInterval     = 50 * time.Millisecond
	idlePollInterval = 250 * time.Millisecond
	// describeInterval is how often new shards are looked for, besides when a shard ends. DynamoDB
	// allows 10 calls a second ("DescribeStream").
	describeInterval = 10 * time.Second
	// maxErrorPause is the longest pause after an error of the stream's API.
	maxErrorPause = 5 * time.Second
)

// Runner runs one mapping.
type Runner struct {
	mapping template.Mapping
	config  Config
	filters []pattern
	board
}

// New returns a runner of a mapping. The error is of a filter that is no pattern.
func New(m template.Mapping, c Config) (*Runner, error) {
	r := &Runner{mapping: m, board: board{shards: map[string]shardNote{}, unknown: m.Enabled}}
	for i, text := range m.Filters {
		p, err := compilePattern(text)
		if err != nil {
			return nil, fmt.Errorf("invalid Filters[%d]: %w", i, err)
		}
		r.filters = append(r.filters, p)
	}
	c.Logger = c.Logger.With("mapping", m.LogicalID, "function", m.Function)
	r.config = c
	return r, nil
}

// passes reports whether one of the filters lets the record through. Each record is filtered before
// it joins a batch, so a batch is filled with records that the function sees: "Control which events
// Lambda sends to your function" (invocation-eventfiltering.html).
func (r *Runner) passes(event map[string]any) bool {
	return len(r.filters) == 0 ||
		slices.ContainsFunc(r.filters, func(p pattern) bool { return p.matches(event) })
}

// backoff is the pause before a batch is tried again, after failures in a row (1 and more): 100 ms,
// doubling up to 10 s, less a random part of up to a half. AWS does not publish Lambda's.
func backoff(failures int) time.Duration {
	pause := 10 * time.Second
	if failures < 8 {
		pause = min(pause, 100*time.Millisecond<<(failures-1))
	}
	return pause - rand.N(pause/2)
}

// Run reads the stream and invokes the function until the context ends; then it waits for
// invocations under way and returns nil. It returns an error if the stream does not exist, or no
// longer. A disabled mapping returns at once. Call it once.
func (r *Runner) Run(ctx context.Context) error {
	if !r.mapping.Enabled {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	var readers sync.WaitGroup
	defer readers.Wait()
	defer cancel()

	tree := shardTree{}
	ended := make(chan string)
	failures := 0
	for {
		pause := describeInterval
		shards, err := r.describe(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case isNotFound(err):
			return fmt.Errorf("event source mapping %q: stream %s does not exist: %w", r.mapping.LogicalID,
				r.config.StreamARN, err)
		case err != nil:
			failures++
			pause = r.errorPause(failures)
			r.config.Logger.Warn("cannot describe stream", "error", err, "retryIn", pause)
		case len(shards) == 0: // a stream that is only just being made
			pause = r.errorPause(1)
		default:
			failures = 0
			tree.see(shards, r.mapping.StartingPosition)
			r.described(tree)
			for _, s := range tree.start() {
				reader := newShardReader(r, s)
				readers.Go(func() {
					if reader.run(ctx) {
						select {
						case ended <- reader.id:
						case <-ctx.Done():
						}
					}
				})
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case id := <-ended:
			tree[id].state = shardDone
			r.ended(id)
		case <-time.After(pause):
		}
	}
}

// describe lists all shards of the stream, page by page: "DescribeStream" in the Amazon DynamoDB
// API Reference (API_streams_DescribeStream.html).
func (r *Runner) describe(ctx context.Context) ([]types.Shard, error) {
	var shards []types.Shard
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: &r.config.StreamARN}
	for {
		out, err := r.config.Streams.DescribeStream(ctx, in)
		if err != nil {
			return nil, err
		}
		if out.StreamDescription == nil {
			return nil, errors.New("DescribeStream answered without a description")
		}
		shards = append(shards, out.StreamDescription.Shards...)
		last := out.StreamDescription.LastEvaluatedShardId
		if aws.ToString(last) == "" {
			return shards, nil
		}
		in.ExclusiveStartShardId = last
	}
}

// errorPause is the pause after a number of errors in a row.
func (r *Runner) errorPause(failures int) time.Duration {
	return min(idlePollInterval<<min(failures-1, 10), maxErrorPause)
}

// lanes makes the lanes of a shard.
func (r *Runner) lanes(shardID string) []*lane {
	seed := fnv.New64a()
	seed.Write([]byte(shardID))
	lanes := make([]*lane, r.mapping.Parallelization)
	for i := range lanes {
		lanes[i] = &lane{
			mapping: &r.mapping,
			backoff: backoff,
			chaos:   r.config.Chaos.Dice(seed.Sum64() + uint64(i)),
		}
	}
	return lanes
}

func isNotFound(err error) bool {
	return errors.As(err, new(*types.ResourceNotFoundException))
}
