package eventsource

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/localstack/template"
)

func TestRunnerRenewsItsIterator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream, f := newMemoryStream("a"), &function{t: t}
		stream.put("a", "1")
		stream.put("a", "2")
		run := startRunner(t, stream, f.invoke, nil)
		run.drain()
		stream.change(func() { stream.era++ })
		stream.put("a", "3")
		run.drain()
		stream.change(func() { stream.era++; stream.shard("a").trimmed = 3 })
		stream.put("a", "4")
		run.delivered(f, "1", "2", "3", "4")
	})
}

// A LATEST iterator must survive an error: another one would begin behind what was written in
// between.
func TestRunnerKeepsItsIteratorThroughErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream, f := newMemoryStream("a"), &function{t: t}
		stream.breaks("records", errors.New("connection refused"))
		run := startRunner(t, stream, f.invoke, latest)
		bubble.Sleep(time.Second)
		stream.put("a", "1")
		stream.breaks("records", nil)
		run.delivered(f, "1")
	})
}

func TestRunnerBacksOffFromErrors(t *testing.T) {
	for _, op := range []string{"describe", "iterator", "records"} {
		t.Run(op, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stream, f := newMemoryStream("a"), &function{t: t}
				stream.put("a", "1")
				stream.breaks(op, &types.LimitExceededException{})
				run := startRunner(t, stream, f.invoke, nil)
				bubble.Sleep(time.Minute)
				calls := 0
				stream.change(func() { calls = stream.calls[op] })
				stream.breaks(op, nil)
				check.That(t, calls >= 10 && calls <= 20, "%d calls within a minute of errors", calls)
				run.delivered(f, "1")
			})
		})
	}
}

func TestRunnerPollsLittleWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream, f := newMemoryStream("a"), &function{t: t}
		delivered := make(chan time.Time, 2)
		f.answer = func([]received) (string, string, error) {
			delivered <- time.Now()
			return "", "", nil
		}
		run := startRunner(t, stream, f.invoke, nil)
		bubble.Sleep(10 * time.Second)
		before := run.Stats().Polls
		bubble.Sleep(time.Minute)
		polls := run.Stats().Polls - before
		check.That(t, polls <= 240, "%d polls in an idle minute, at most 240 are expected", polls)

		// The first record is found within the idle interval, those that follow it quickly.
		written := time.Now()
		stream.put("a", "1")
		wait := (<-delivered).Sub(written)
		check.That(t, wait <= 250*time.Millisecond, "the first record waited %v", wait)
		written = time.Now()
		stream.put("a", "2")
		wait = (<-delivered).Sub(written)
		check.That(t, wait <= 50*time.Millisecond, "the record after it waited %v", wait)
		_ = run.end()
	})
}

func TestRunnerDoesNotReadAheadForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream, f := newMemoryStream("a"), &function{t: t}
		for i := range 3 * readAhead {
			stream.put("a", fmt.Sprint(i%7))
		}
		open := make(chan struct{})
		f.answer = func([]received) (string, string, error) { <-open; return "", "", nil }
		run := startRunner(t, stream, f.invoke, nil)
		bubble.Sleep(time.Minute)
		read := run.Stats().Read
		check.That(t, read >= readAhead && read <= readAhead+2*pollLimit, "%d", read)
		close(open)
		run.drain()
		_ = run.end()
		check.Is(t, run.Stats().Delivered, 3*readAhead)
	})
}

// A record's age counts from when it was written, which DynamoDB Local tells to the minute only.
func TestRunnerDoesNotTakeFreshRecordsForOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream, f := newMemoryStream("a"), &function{t: t}
		stream.put("a", "old") // at 00:00:00
		bubble.Sleep(59*time.Minute + 59*time.Second)
		calls := 0
		f.answer = func([]received) (string, string, error) {
			calls++
			if calls < 4 {
				return "", "", errors.New("throttled")
			}
			return "", "", nil
		}
		run := startRunner(t, stream, f.invoke, func(m *template.Mapping, c *Config) {
			m.MaxRecordAge = time.Minute
			c.Backoff = func(int) time.Duration { return 2 * time.Second }
		})
		run.drain()
		stream.put("a", "fresh")
		fresh := stream.shard("a").records[1].Dynamodb
		fresh.ApproximateCreationDateTime = aws.Time(
			fresh.ApproximateCreationDateTime.Truncate(time.Minute))
		run.drain()
		_ = run.end()
		got := slices.Compact(f.keys())
		check.That(t, slices.Equal(got, []string{"fresh"}) && run.Stats().Failed == 1,
			"delivered %v, stats %+v", got, run.Stats())
	})
}

func TestRunnerStartsAtLatest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream, f := newMemoryStream("closed", "parent", "open"), &function{t: t}
		stream.put("closed", "old")
		stream.split("closed")
		stream.put("parent", "old")
		stream.split("parent", "first")
		stream.put("first", "old")
		stream.put("open", "old")
		run := startRunner(t, stream, f.invoke, latest)
		run.drain()
		stream.put("open", "new")
		stream.split("open", "child")
		stream.put("child", "newer") // before the child is known
		run.drain()
		stream.put("first", "newest")
		run.delivered(f, "new", "newer", "newest")
	})
}

// DynamoDB Local refuses LATEST on an empty shard.
func TestRunnerLatestIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream, f := newMemoryStream("a"), &function{t: t}
		stream.breaks("records", &types.TrimmedDataAccessException{})
		run := startRunner(t, stream, f.invoke, latest)
		bubble.Sleep(time.Second)
		stream.put("a", "new")
		stream.breaks("records", nil)
		run.delivered(f, "new")
	})
}

func TestRunnerForgetsTrimmedShards(t *testing.T) {
	tree := shardTree{}
	shard := func(id, parent string) types.Shard {
		return types.Shard{ShardId: &id, ParentShardId: aws.String(parent)}
	}
	tree.see([]types.Shard{shard("a", "trimmed"), shard("b", "a")}, "TRIM_HORIZON")
	got := tree.start()
	check.Need(t, len(got) == 1 && got[0].id == "a", "started %v, want a", got)
	got = tree.start()
	check.Is(t, len(got), 0, got)
	tree.done("a")
	tree.see([]types.Shard{shard("b", "a")}, "TRIM_HORIZON")
	check.That(t, tree["a"] == nil, "a is still known")
	got = tree.start()
	check.That(t, len(got) == 1 && got[0].id == "b", "started %v, want b", got)
}

// A stream that is being made has no shards yet; they do not take long.
func TestRunnerAwaitsTheFirstShard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream, f := newMemoryStream(), &function{t: t}
		run := startRunner(t, stream, f.invoke, nil)
		since := time.Now()
		bubble.Sleep(time.Minute)
		check.That(t, !run.Idle(since), "idle without a shard")
		stream.change(func() { stream.shards = []*memoryShard{{id: "a"}} })
		stream.put("a", "1")
		bubble.Sleep(time.Second)
		check.Is(t, cmp.Diff([]string{"1"}, f.keys()), "")
		_ = run.end()
	})
}

// A closed shard may have children that nobody has seen.
func TestRunnerIsNotIdleBeforeItKnowsTheChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream, f := newMemoryStream("a"), &function{t: t}
		run := startRunner(t, stream, f.invoke, nil)
		run.drain()
		stream.breaks("describe", errors.New("connection refused"))
		stream.split("a", "b")
		stream.put("b", "1")
		since := time.Now()
		bubble.Sleep(3 * time.Second)
		check.That(t, !run.Idle(since), "idle while the child is not known")
		stream.breaks("describe", nil)
		run.delivered(f, "1")
	})
}

// A shard that is trimmed as a whole has nothing more to give, and its child must not wait for it.
func TestRunnerGoesOnBehindAShardThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream, f := newMemoryStream("a"), &function{t: t}
		stream.put("a", "1")
		run := startRunner(t, stream, f.invoke, nil)
		run.drain()
		stream.split("a", "b")
		stream.put("b", "2")
		stream.change(func() { stream.shards = stream.shards[1:] })
		run.delivered(f, "1", "2")
	})
}

func TestRunnerEndsWithItsStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stream, f := newMemoryStream("a"), &function{t: t}
		stream.put("a", "1")
		run := startRunner(t, stream, f.invoke, nil)
		run.drain()
		stream.change(func() { stream.gone = true })
		err := <-run.done
		check.Need(t, isNotFound(err), "Run = %v", err)
		check.That(t, strings.Contains(err.Error(), `"M"`), "Run = %v", err)
		check.Is(t, cmp.Diff([]string{"1"}, f.keys()), "")
	})
}
