package xorack

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"strconv"
	"strings"

	"github.com/streamsort/streamsort/internal/bounds"
	"github.com/streamsort/streamsort/pkg/invalid"
	"github.com/streamsort/streamsort/pkg/xorack/internal/chains"
)

// MaxTag is the most bytes of a tag, which is valid UTF-8 and not empty.
const MaxTag = 1024

// Incarnation distinguishes a chain from others that have had the same tag. It derives from the tag
// and [CreateOptions.ID].
type Incarnation [8]byte

// Op is the mark of an operation in its chain: the first bytes of the edge's id.
type Op [8]byte

// String is the operation in hexadecimal digits.
func (o Op) String() string { return hex.EncodeToString(o[:]) }

// split identifies the children that an operation started: 4 bytes of a hash.
type split = [4]byte

// Edge is a piece of work in a chain. It travels with the work as a token of printable characters:
// [Edge.String], [ParseEdge]; in JSON it is that text. Two edges are the same if they are ==. The
// zero Edge is no edge.
//
// A worker on an edge derives the edges of the work that follows from it ([Edge.Child],
// [Edge.Named]), so that a handler that runs a second time starts the very same edges.
type Edge struct {
	tag string
	inc Incarnation
	id  [12]byte
}

// Tag is the chain's tag.
func (e Edge) Tag() string { return e.tag }

// Incarnation is the chain's.
func (e Edge) Incarnation() Incarnation { return e.inc }

// Op is the mark that the edge's end leaves in the chain.
func (e Edge) Op() Op { return Op(e.id[:8]) }

// IsZero reports whether this is no edge.
func (e Edge) IsZero() bool { return e == Edge{} }

// given reports an edge that is not one.
func (e Edge) given() error {
	if e.IsZero() {
		return invalid.New(invalid.Missing, "edge", "must not be empty")
	}
	return nil
}

func incarnationOf(tag, id string) Incarnation {
	hash := chains.Derive(chains.ForIncarnation, []byte(tag), []byte(id))
	return Incarnation(hash[:8])
}

// Root is the ith root edge, from 0, of the chain that has this tag and [CreateOptions.ID]. It
// makes no request: work may start, and even end, before the chain is created.
func Root(tag, id string, i int) Edge { return rootOf(tag, incarnationOf(tag, id), i) }

func rootOf(tag string, inc Incarnation, i int) Edge {
	return Edge{tag: tag, inc: inc,
		id: edgeID(chains.Derive(chains.ForRoot, inc[:], chains.Number(i)))}
}

func (e Edge) derived(kind byte, name []byte) Edge {
	return Edge{tag: e.tag, inc: e.inc, id: edgeID(chains.Derive(kind, e.inc[:], e.id[:], name))}
}

// opOfBatch is the bit of a mark that distinguishes a call of Add from an edge's end: edges' ids do
// not have it.
const opOfBatch = 0x80

func edgeID(hash [32]byte) [12]byte {
	hash[0] &^= opOfBatch
	return [12]byte(hash[:12])
}

// Child is the ith edge that follows from this one, from 0. How many there are must follow from the
// work alone: a handler that runs again must start the same ones.
func (e Edge) Child(i int) Edge { return e.derived(chains.ForChild, chains.Number(i)) }

// Children are the first n of the edges that Child returns.
func (e Edge) Children(n int) []Edge {
	children := make([]Edge, max(n, 0))
	for i := range children {
		children[i] = e.Child(i)
	}
	return children
}

// Named is the edge of this name that follows from this one, for work that is identified by a key
// rather than a number.
func (e Edge) Named(name string) Edge { return e.derived(chains.ForNamed, []byte(name)) }

// Added is the ith edge that an [Acker.Add] of this batch starts, from 0, for work whose parts are
// numbered: each batch has edges of its own, and none is one that Child returns.
func (e Edge) Added(batch string, i int) Edge {
	hash := chains.Derive(chains.ForAdded, e.inc[:], e.id[:], []byte(batch), chains.Number(i))
	return Edge{tag: e.tag, inc: e.inc, id: edgeID(hash)}
}

// batchOp is the mark of an [Acker.Add].
func (e Edge) batchOp(batch string) Op {
	hash := chains.Derive(chains.ForBatch, e.inc[:], e.id[:], []byte(batch))
	hash[0] |= opOfBatch
	return Op(hash[:8])
}

// tokenVersion is the first byte of a token.
const tokenVersion = 1

var tokenTable = crc32.MakeTable(crc32.Castagnoli)

// tokenHead is the bytes of a token before its tag: version, incarnation, id and the checksum of
// all the rest.
const tokenHead = 1 + 8 + 12 + 4

// String is the edge as a token: letters, digits, - and _, about 34 characters and 4 for each 3
// bytes of the tag.
func (e Edge) String() string {
	token := append([]byte{tokenVersion}, e.inc[:]...)
	token = append(token, e.id[:]...)
	token = binary.BigEndian.AppendUint32(token, e.checksum())
	return base64.RawURLEncoding.EncodeToString(append(token, e.tag...))
}

func (e Edge) checksum() uint32 {
	sum := crc32.Update(0, tokenTable, []byte{tokenVersion})
	sum = crc32.Update(sum, tokenTable, e.inc[:])
	sum = crc32.Update(sum, tokenTable, e.id[:])
	return crc32.Update(sum, tokenTable, []byte(e.tag))
}

// MarshalText implements [encoding.TextMarshaler]: the token.
func (e Edge) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (e *Edge) UnmarshalText(token []byte) (err error) {
	*e, err = ParseEdge(string(token))
	return err
}

// ParseEdge reads a token. One in which anything was altered is an [InvalidError].
func ParseEdge(token string) (Edge, error) {
	malformed := func(problem string) (Edge, error) {
		return Edge{}, invalid.New(invalid.Malformed, "edge", problem)
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	// The decoder takes ends of lines, wherever they stand.
	if err != nil || len(raw) <= tokenHead || strings.ContainsAny(token, "\r\n") {
		return malformed("is not a token")
	}
	if raw[0] != tokenVersion {
		return malformed("is a token of version " + strconv.Itoa(int(raw[0])) +
			", and this program knows version 1")
	}
	e := Edge{tag: string(raw[tokenHead:]), inc: Incarnation(raw[1:9]), id: [12]byte(raw[9:21])}
	if binary.BigEndian.Uint32(raw[21:]) != e.checksum() {
		return malformed("is a token that was altered")
	}
	if ValidateTag(e.tag) != nil {
		return malformed("is a token of a tag that cannot be")
	}
	return e, nil
}

// ValidateTag reports a tag that cannot be used: an empty one, one over [MaxTag] bytes, or one that
// is not valid UTF-8.
func ValidateTag(tag string) error { return bounds.Text("tag", tag, 1, MaxTag) }
