package eventsource

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/bubble"
	"github.com/streamsort/streamsort/internal/dev/check"
)

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
