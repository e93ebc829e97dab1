package eventsource

import (
	"maps"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// shardTree has the known shards of a stream, and says which may be read: a shard only after its
// parent is done, so that the changes of an item stay in order when its shard is split.
// "DynamoDB Streams and shards" (Streams.html): "an application must always process a parent shard
// before it processes a child shard".
type shardTree map[string]*shard

type shard struct {
	id, parent string // parent is "" without one
	from       types.ShardIteratorType
	state      shardState
}

type shardState int

const (
	shardWaiting shardState = iota
	shardRunning
	shardDone // everything in it has been dealt with
)

// see takes the whole list of shards that DescribeStream has given.
//
// The starting position holds for the shards of the first list: LATEST skips those that have
// children, and so are closed. What comes later was written after the mapping had started and is
// read from its beginning ("Polling and stream starting positions", with-ddb.html). Whether a shard
// is closed is not taken from its EndingSequenceNumber: dynoxide gives open shards one.
//
// A done shard that is no longer listed was trimmed and is forgotten.
func (t shardTree) see(shards []types.Shard, startingPosition string) {
	latest := len(t) == 0 && startingPosition == string(types.ShardIteratorTypeLatest)
	listed, closed := map[string]bool{}, map[string]bool{}
	for _, s := range shards {
		listed[aws.ToString(s.ShardId)], closed[aws.ToString(s.ParentShardId)] = true, true
	}
	for _, s := range shards {
		id := aws.ToString(s.ShardId)
		if t[id] != nil {
			continue
		}
		known := &shard{id: id, parent: aws.ToString(s.ParentShardId)}
		known.from = types.ShardIteratorTypeTrimHorizon
		if latest {
			known.from = types.ShardIteratorTypeLatest
		}
		if latest && closed[id] {
			known.state = shardDone
		}
		t[id] = known
	}
	maps.DeleteFunc(t, func(id string, s *shard) bool { return s.state == shardDone && !listed[id] })
}

// start returns the shards that can be read now and are not, and marks them as running. A parent
// that is not known was trimmed before.
func (t shardTree) start() []*shard {
	var ready []*shard
	for _, s := range t {
		parent := t[s.parent]
		if s.state == shardWaiting && (parent == nil || parent.state == shardDone) {
			ready = append(ready, s)
		}
	}
	for _, s := range ready {
		s.state = shardRunning
	}
	return ready
}
