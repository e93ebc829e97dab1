package eventsource

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// shardStart is a shard that can be read, and from where.
type shardStart struct {
	id       string
	position types.ShardIteratorType
}

// shardTree knows the shards of a stream and which may be read: a shard only after its parent is
// done, so that the changes of an item stay in order when its shard is split. "DynamoDB Streams and
// shards" (Streams.html): "an application must always process a parent shard before it processes a
// child shard".
type shardTree struct {
	parents map[string]string     // of every known shard; "" without parent
	state   map[string]shardState // of every known shard
	from    map[string]types.ShardIteratorType
}

type shardState int

const (
	shardWaiting shardState = iota
	shardRunning
	shardDone
)

func newShardTree() *shardTree {
	return &shardTree{parents: map[string]string{}, state: map[string]shardState{}, from: map[string]types.ShardIteratorType{}}
}

// see takes the whole list of shards that DescribeStream has given.
//
// The starting position holds for the shards of the first list: LATEST skips those that have
// children, and so are closed. What comes later was written after the mapping had started and is
// read from its beginning ("Polling and stream starting positions", with-ddb.html). Whether a shard
// is closed is not taken from its EndingSequenceNumber: dynoxide gives open shards one.
//
// A done shard that is no longer listed was trimmed and is forgotten.
func (t *shardTree) see(shards []types.Shard, startingPosition string) {
	first := len(t.state) == 0
	listed, closed := map[string]bool{}, map[string]bool{}
	for _, s := range shards {
		listed[aws.ToString(s.ShardId)], closed[aws.ToString(s.ParentShardId)] = true, true
	}
	for _, s := range shards {
		id := aws.ToString(s.ShardId)
		if _, ok := t.state[id]; ok {
			continue
		}
		t.parents[id] = aws.ToString(s.ParentShardId)
		t.state[id], t.from[id] = shardWaiting, types.ShardIteratorTypeTrimHorizon
		if !first || startingPosition != string(types.ShardIteratorTypeLatest) {
			continue
		}
		t.from[id] = types.ShardIteratorTypeLatest
		if closed[id] {
			t.state[id] = shardDone
		}
	}
	for id, state := range t.state {
		if state == shardDone && !listed[id] {
			delete(t.parents, id)
			delete(t.state, id)
			delete(t.from, id)
		}
	}
}

// start returns the shards that can be read now and are not, and marks them as running. A parent
// that is not known was trimmed before.
func (t *shardTree) start() []shardStart {
	var ready []shardStart
	for id, state := range t.state {
		parent, known := t.state[t.parents[id]]
		if state == shardWaiting && (!known || parent == shardDone) {
			ready = append(ready, shardStart{id: id, position: t.from[id]})
		}
	}
	for _, s := range ready {
		t.state[s.id] = shardRunning
	}
	return ready
}

// done says that everything in a shard has been dealt with.
func (t *shardTree) done(id string) { t.state[id] = shardDone }

// open returns the shards that are not done.
func (t *shardTree) open() []string {
	var ids []string
	for id, state := range t.state {
		if state != shardDone {
			ids = append(ids, id)
		}
	}
	return ids
}
