// Package chains is the chains' table as both packages that write to it know it: pkg/xorack, whose
// chains have edges, and pkg/xorack/stamps.
package chains

import (
	"hash/fnv"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
)

// Layout is the version of the items' layout, stored in each item's "v".
//
// Compatibility: a reader takes items of this layout and of older ones, and refuses newer ones; so
// does a writer, in its condition. Adding an attribute that older versions may ignore does not
// raise the version; giving an attribute another meaning does.
const Layout = 1

// The attributes of the items. Their names are short because a chain of 100 edges is to fit into
// one write unit.
const (
	Tag         ddb.Path = "tag" // the key
	Version     ddb.Path = "v"
	Incarnation ddb.Path = "inc"
	Sum         ddb.Path = "n"
	Ops         ddb.Path = "ops"
	Splits      ddb.Path = "kids"
	Edges       ddb.Path = "edges"
	StampLen    ddb.Path = "stampLen"
	Stamps      ddb.Path = "stamps"
	Created     ddb.Path = "created" // ms
	Options     ddb.Path = "cd"
	Deadline    ddb.Path = "deadline" // ms
	Seen        ddb.Path = "seen"     // ms
	Due         ddb.Path = "due"      // ms
	DueShard    ddb.Path = "dueShard"
	LastOp      ddb.Path = "lastOp"
	Recorded    ddb.Path = "st"
	Reason      ddb.Path = "reason"
	EndedAt     ddb.Path = "endedAt"   // ms
	ExpiresOn   ddb.Path = "expiresOn" // s, the TTL attribute
	Parent      ddb.Path = "parent"
)

// StampMark is how many bytes before a stored stamp mark its operation.
const StampMark = 6

// DueShards is how many parts the index of due chains has: each takes 1,000 writes a second, and a
// chain makes two.
const DueShards = 16

// DueShardOf is the part that a tag's chain is in.
func DueShardOf(tag string) int64 {
	hash := fnv.New32a()
	hash.Write([]byte(tag))
	return int64(hash.Sum32() % DueShards)
}

// Never is an expiry that does not come: a chain is not deleted before it is sealed. It is in the
// item all the same, so that an operation that comes late does not set the one of an operation that
// came before creation. It is in the year 9892, a number of few digits: each two of them are a
// byte.
var Never = time.Unix(250_000_000_000, 0).UTC()

// MinLook is the shortest time to the sweep's next look at an open chain whose deadline is farther.
const MinLook = 15 * time.Minute
