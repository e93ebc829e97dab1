package trouble

import (
	"hash/fnv"
	"strconv"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/tenant"
)

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
