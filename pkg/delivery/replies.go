package delivery

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// Bounds of the replies of one claim, beside [request.MaxReplies].
const (
	// maxReplyQueues is the most queues that they go to.
	maxReplyQueues = 10
	// maxReplyBytes bounds all that the replies hold together, 64 bytes a reply and 4 an attribute
	// for what is around them included.
	maxReplyBytes = 256 * 1024
)

// replyOverhead and attributeOverhead are what a reply and an attribute take beside what they hold,
// at least: so what is within MaxReplyBytes can be stored under one id, however small its parts
// are.
const replyOverhead, attributeOverhead = 64, 4

// Reply is a message that a consumer sends with the commit of a claim: it is stored exactly once if
// the claim is committed, and not at all otherwise.
type Reply struct {
	// Queue is where it goes: any queue of the same tables. One that is not there is made, of the
	// kind that the reply is for.
	Queue string
	// Seq is its place in a numbered queue; nil for a queue in arrival order. The replies of a
	// claim to one queue have all a seq, or none.
	Seq *int64
	// ID, Body, ContentType, Attributes and Trace are as in a cursor.Message. A reply without an ID
	// gets one, which is the same however often it is stored.
	ID          string
	Body        []byte
	ContentType string
	Attributes  map[string]string
	Trace       cursor.Trace
}

// attrReplySeq is the attribute by which a staged reply keeps its seq.
const attrReplySeq = "streamsort-reply-seq"

// message is the reply as it is stored, without a seq.
func (r Reply) message() cursor.Message {
	return cursor.Message{Queue: r.Queue, ID: r.ID, Body: r.Body, ContentType: r.ContentType,
		Attributes: r.Attributes, Trace: r.Trace}
}

func (r Reply) validate() error {
	m := r.message()
	if r.Seq != nil {
		m.Seq, m.Attributes = *r.Seq, withSeq(r.Attributes, *r.Seq)
	}
	if _, taken := r.Attributes[attrReplySeq]; taken {
		return invalid.New(invalid.Misplaced, "attributes", "must not have the name "+attrReplySeq)
	}
	return m.Validate()
}

// withSeq is the attributes with which a reply is staged that has a seq.
func withSeq(attributes map[string]string, seq int64) map[string]string {
	with := map[string]string{attrReplySeq: strconv.FormatInt(seq, 10)}
	maps.Copy(with, attributes)
	return with
}

func (r Reply) size() int {
	size := replyOverhead + len(r.Queue) + len(r.ID) + len(r.Body) + len(r.ContentType) +
		len(r.Trace.Parent) + len(r.Trace.State)
	for name, value := range r.Attributes {
		size += attributeOverhead + len(name) + len(value)
	}
	return size
}

// validateReplies reports why the replies of one claim cannot be stored, as a
// *cursor.InvalidError that names the reply and the field.
func validateReplies(replies []Reply) error {
	var all outbox
	return all.add(replies...)
}

type outbox struct {
	mu sync.Mutex
	gathered
	// refused is why replies were not added, the first time.
	refused error
}

// gathered are replies within their bounds.
type gathered struct {
	replies []Reply
	size    int
	// numbered says for each queue whether its replies have seqs; taken has those of each.
	numbered map[string]bool
	taken    map[place]bool
}

type place struct {
	queue string
	seq   int64
}

// add adds replies, or none and an error.
func (o *outbox) add(replies ...Reply) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	next := gathered{slices.Clone(o.replies), o.size, maps.Clone(o.numbered), maps.Clone(o.taken)}
	if next.numbered == nil {
		next.numbered, next.taken = map[string]bool{}, map[place]bool{}
	}
	for _, r := range replies {
		if err := next.join(r); err != nil {
			if o.refused == nil {
				o.refused = err
			}
			return err
		}
	}
	o.gathered = next
	return nil
}

// all are those that were added, and why some were not, the first time.
func (o *outbox) all() ([]Reply, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.replies), o.refused
}

// join adds a reply, or says why it cannot join those before it.
func (g *gathered) join(r Reply) error {
	i := len(g.replies)
	if err := r.validate(); err != nil {
		return invalid.Within("replies", i, err)
	}
	numbered, known := g.numbered[r.Queue]
	switch g.size += r.size(); {
	case i >= request.MaxReplies:
		return invalid.New(invalid.OutOfRange, "replies",
			fmt.Sprintf("are more than %d: a claim has at most so many", request.MaxReplies))
	case g.size > maxReplyBytes:
		return invalid.New(invalid.TooLarge, "replies", fmt.Sprintf("have more than %d bytes together, %d a reply and %d an attribute for what is around them included", maxReplyBytes, replyOverhead, attributeOverhead))
	case !known && len(g.numbered) == maxReplyQueues:
		return invalid.New(invalid.OutOfRange, "replies",
			fmt.Sprintf("go to more than %d queues: a claim sends to at most so many", maxReplyQueues))
	case known && numbered != (r.Seq != nil):
		return invalid.Within("replies", i,
			invalid.New(invalid.Clash, "seq", "must be given in all replies to a queue, or in none"))
	case r.Seq != nil && g.taken[place{r.Queue, *r.Seq}]:
		return invalid.Within("replies", i,
			invalid.New(invalid.Clash, "seq", "is that of another reply to the same queue"))
	}
	if r.Seq != nil {
		g.taken[place{r.Queue, *r.Seq}] = true
	}
	g.numbered[r.Queue] = r.Seq != nil
	// Its sender has no part of it any more.
	if r.Seq != nil {
		r.Seq = new(*r.Seq)
	}
	r.Body, r.Attributes = slices.Clone(r.Body), maps.Clone(r.Attributes)
	g.replies = append(g.replies, r)
	return nil
}

// replyID is the id under which the replies of a claim to one queue are stored, all together. It
// has the whole token in it: another claim of the same messages sends replies of its own.
func (h Held) replyID(queue string) string {
	hash := sha256.New()
	for _, part := range []string{h.Queue, h.Consumer, strconv.FormatInt(h.Token.N, 10),
		h.Token.Req, queue} {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		hash.Write(size[:])
		hash.Write([]byte(part))
	}
	return base64.RawURLEncoding.EncodeToString(hash.Sum(nil)[:16])
}

type parcel struct {
	outgoing
	// messages are as they are put.
	messages []cursor.Message
}

// parcels are the replies of a claim by queue, in the order of their first ones.
func (h Held) parcels(replies []Reply) []*parcel {
	var list []*parcel
	of := map[string]*parcel{}
	for i, r := range replies {
		p := of[r.Queue]
		if p == nil {
			p = &parcel{outgoing: outgoing{Queue: r.Queue, Numbered: r.Seq != nil}}
			of[r.Queue], list = p, append(list, p)
		}
		m := r.message()
		if m.ID == "" {
			m.ID = h.replyID(r.Queue) + "-" + strconv.Itoa(i)
		}
		if r.Seq == nil {
			m.Seq, m.PutID = cursor.NoSeq, h.replyID(r.Queue)
		} else {
			m.Seq = *r.Seq
		}
		p.messages = append(p.messages, m)
	}
	return list
}

// staged are the parcel's messages as they are stored under one id; the seqs of numbered ones are
// among their attributes.
func (p *parcel) staged(h Held) []cursor.Message {
	messages := slices.Clone(p.messages)
	for i := range messages {
		if m := &messages[i]; p.Numbered {
			m.Attributes, m.Seq, m.PutID = withSeq(m.Attributes, m.Seq), cursor.NoSeq, h.replyID(p.Queue)
		}
	}
	return messages
}

// unstaged are the messages of a numbered parcel that was staged.
func unstaged(queue string, staged []cursor.Message) ([]cursor.Message, error) {
	messages := make([]cursor.Message, len(staged))
	for i, m := range staged {
		seq, err := cursor.ParseSeq(m.Attributes[attrReplySeq])
		if err != nil {
			return nil, fmt.Errorf("staged reply %d: %w", i, err)
		}
		m.Queue, m.Seq, m.Attributes = queue, seq, maps.Clone(m.Attributes)
		if delete(m.Attributes, attrReplySeq); len(m.Attributes) == 0 {
			m.Attributes = nil
		}
		messages[i] = m
	}
	return messages, nil
}
