package cursor

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/streamsort/streamsort/internal/bounds"
	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// Trace is the trace context that a message came with, as the W3C's Trace Context has it:
// https://www.w3.org/TR/trace-context/. It is stored beside the message, and is no part of its
// Digest: a repeat that is traced otherwise is a duplicate, and the first one's stays.
type Trace struct {
	// Parent is the traceparent in the form of version 00, 55 bytes; empty where none exists.
	Parent string
	// State is the tracestate, at most MaxTraceState bytes; empty where none exists, or no Parent.
	State string
}

const (
	// maxTraceState is the most bytes of a tracestate that are stored.
	maxTraceState = 512

	traceparentSize = len("00-") + 32 + len("-") + 16 + len("-") + 2
	maxStateMembers = 32
	// longStateMember is how many bytes a member has that is left out first where there are too
	// many.
	longStateMember = 128
	// knownFlags are those that mean something in version 00: sampled, and that the id is random.
	knownFlags = 0x03
	// traceSize is a traceparent as it is stored: the trace's id, the parent's, the flags.
	traceSize = 16 + 8 + 1
)

// ParseTrace reads a traceparent and a tracestate that somebody gives for one message. A
// traceparent of a later version is taken as one of version 00, as the W3C says. The error is an
// InvalidError.
func ParseTrace(parent, state string) (Trace, error) {
	if parent == "" && state != "" {
		return Trace{},
			invalid.New(invalid.Misplaced, "tracestate", "must not be given without a traceparent")
	}
	if parent == "" {
		return Trace{}, nil
	}
	read, why := readTraceparent(parent)
	if why != "" {
		return Trace{}, invalid.New(invalid.Malformed, "traceparent", why)
	}
	if len(state) > maxTraceState {
		return Trace{}, bounds.TooLarge("tracestate", len(state), maxTraceState)
	}
	if why := badState(state); why != "" {
		return Trace{}, invalid.New(invalid.Malformed, "tracestate", why)
	}
	return Trace{Parent: read, State: state}, nil
}

// TraceOf reads the headers traceparent and tracestate of a request, which its caller's
// instrumentation wrote: as the W3C demands, what is not right is left out, and so is what is too
// long of a tracestate. The header tracestate may have been sent several times, joined by commas.
func TraceOf(parent, state string) Trace {
	read, why := readTraceparent(strings.Trim(parent, " \t"))
	if why != "" {
		return Trace{}
	}
	t := Trace{Parent: read}
	if state = strings.Trim(state, " \t,"); badState(state) == "" {
		t.State = shortened(state)
	}
	return t
}

var (
	traceparentForm = regexp.MustCompile(`^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$`)
	// stateForm is a member of a tracestate: a key that begins with a small letter or a digit, and
	// a value of visible characters and spaces, without a comma or an equals sign.
	stateForm = regexp.MustCompile(`^[a-z0-9][a-z0-9_*/@-]{0,255}=[ -+\--<>-~]{1,256}$`)
)

// readTraceparent is a traceparent in the form of version 00, or why it is not one.
func readTraceparent(text string) (read, why string) {
	if len(text) < traceparentSize {
		return "", fmt.Sprintf("has %d bytes: it must be like 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", len(text))
	}
	m := traceparentForm.FindStringSubmatch(text[:traceparentSize])
	if m == nil {
		return "", "must be version, trace id, parent id and flags, in 2, 32, 16 and 2 small hex digits, with hyphens between"
	}
	version, trace, parent := m[1], m[2], m[3]
	flags, _ := strconv.ParseUint(m[4], 16, 8)
	switch {
	case version == "ff":
		return "", "has the version ff, which is invalid"
	case version == "00" && len(text) != traceparentSize:
		return "", fmt.Sprintf("has %d bytes: one of version 00 has %d", len(text), traceparentSize)
	case len(text) > traceparentSize && text[traceparentSize] != '-':
		return "", "must have a hyphen behind the flags where anything follows"
	case strings.Trim(trace, "0") == "":
		return "", "has a trace id of nothing but zeros"
	case strings.Trim(parent, "0") == "":
		return "", "has a parent id of nothing but zeros"
	}
	return fmt.Sprintf("00-%s-%s-%02x", trace, parent, flags&knownFlags), ""
}

// badState is why a text is no tracestate; empty where it is one.
func badState(state string) string {
	seen := map[string]bool{}
	for member := range strings.SplitSeq(state, ",") {
		if member = strings.Trim(member, " \t"); member == "" {
			continue
		}
		key, _, _ := strings.Cut(member, "=")
		switch {
		case !stateForm.MatchString(member):
			return "must be members like vendor=value, with commas between"
		case seen[key]:
			return fmt.Sprintf("has the member %q twice", key)
		case len(seen) == maxStateMembers:
			return fmt.Sprintf("has more than %d members", maxStateMembers)
		}
		seen[key] = true
	}
	return ""
}

// shortened is a tracestate of at most MaxTraceState bytes: without its long members, then without
// its last ones, which are the oldest.
func shortened(state string) string {
	if len(state) <= maxTraceState {
		return state
	}
	members := strings.Split(state, ",")
	joined := func() string { return strings.Join(members, ",") }
	for i := len(members) - 1; i >= 0 && len(joined()) > maxTraceState; i-- {
		if len(members[i]) > longStateMember {
			members = slices.Delete(members, i, i+1)
		}
	}
	for len(joined()) > maxTraceState {
		members = members[:len(members)-1]
	}
	return joined()
}

// Sampled reports whether the sender records the trace, so that the receiver would too.
func (t Trace) Sampled() bool {
	return t.Parent != "" && strings.ContainsRune("13579bdf", rune(t.Parent[len(t.Parent)-1]))
}

// ID is the trace's id, 32 hex digits; empty where none exists.
func (t Trace) ID() string {
	if t.Parent == "" {
		return ""
	}
	return t.Parent[3:35]
}

// validate reports a trace that ParseTrace would not have returned.
func (t Trace) validate() error {
	read, err := ParseTrace(t.Parent, t.State)
	if err == nil && read != t {
		err = invalid.New(invalid.Malformed, "traceparent",
			"is not in the form of version 00: "+read.Parent+" is")
	}
	return err
}

// size is how many bytes it takes where it is stored.
func (t Trace) size() int {
	if t.Parent == "" {
		return 0
	}
	return traceSize + len(t.State)
}

// encode is the trace as it is stored: its ids and flags as bytes, then the tracestate. Nothing for
// none.
func (t Trace) encode() []byte {
	if t.Parent == "" {
		return nil
	}
	// It was validated.
	raw, _ := hex.DecodeString(t.Parent[3:35] + t.Parent[36:52] + t.Parent[53:])
	return append(raw, t.State...)
}

// decodeTrace reads what encode wrote.
func decodeTrace(raw []byte) (t Trace, ok bool) {
	if len(raw) == 0 {
		return Trace{}, true
	}
	if len(raw) < traceSize {
		return Trace{}, false
	}
	return Trace{Parent: fmt.Sprintf("00-%x-%x-%x", raw[:16], raw[16:24], raw[24:traceSize]),
		State: string(raw[traceSize:])}, true
}

// tracesOf writes the traces of the messages of one item, in an attribute that older versions pass
// over: one where all have the same, as where it came with a request; else each, preceded by its
// length.
func tracesOf(messages []Message) ddb.Action {
	first := messages[0].Trace
	differs := func(m Message) bool { return m.Trace != first }
	if !slices.ContainsFunc(messages, differs) {
		return attrTrace.Set(blob(first.encode()))
	}
	var out []byte
	for _, m := range messages {
		raw := m.Trace.encode()
		out = append(binary.AppendUvarint(out, uint64(len(raw))), raw...)
	}
	return attrTraces.Set(ddb.Blob(out))
}

// readTrace reads the trace of an item's only message, or of all.
func readTrace(d *ddb.Decoder) Trace {
	t, ok := decodeTrace(d.BytesOr(attrTrace))
	if !ok {
		d.Fail(attrTrace, "is no trace context")
	}
	return t
}

// decodeTraces reads what tracesOf wrote into the item's messages.
func decodeTraces(d *ddb.Decoder, messages []Message) {
	all := readTrace(d)
	raw, each := d.BytesOr(attrTraces), d.Item.Has(attrTraces)
	for i := range messages {
		messages[i].Trace = all
		if !each {
			continue
		}
		n, size := binary.Uvarint(raw)
		ok := size > 0 && n <= uint64(len(raw)-size)
		if ok {
			messages[i].Trace, ok = decodeTrace(raw[size : size+int(n)])
			raw = raw[size+int(n):]
		}
		if !ok {
			d.Fail(attrTraces, "are no trace contexts")
			return
		}
	}
}
