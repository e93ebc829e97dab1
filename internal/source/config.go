package source

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/streamsort/streamsort/internal/mapping"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
)

var sourceName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// Read reads a source's description:
//
//	{"name": "payments", "kind": "sqs", "queue": "account.id", "prefix": "payments/", "seq": "number"}
//
//	{"name": "shop", "kind": "eventbridge",
//	 "queue": "order.id", "key": "@time,version", "keyType": "time,number",
//	 "prev": "before", "attributes": {"type": "@detailType"}, "body": "@record"}
//
//	{"name": "ledger", "kind": "kafka", "order": "arrival", "partial": true, "seq": "number"}
//
// The last one appends each record at exactly its seq to a queue in arrival order.
//
// The paths are those of package mapping: in what the record carries, which is JSON then; of the
// kind's fields, as variables; and in the record itself, as AWS has it, behind @record. What is
// left out is as the kind has it.
//
// It is read strictly: a member that is not known, given twice, or out of its bounds is an error
// that names it.
func Read(text []byte) (*Source, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("has %d bytes: at most %d are taken", len(text), MaxText)
	}
	var d document
	if err := strictjson.Decode(text, &d); err != nil {
		return nil, err
	}
	return d.source()
}

type document struct {
	Name    string `json:"name" required:"true" like:"orders"`
	Kind    string `json:"kind"`
	Order   string `json:"order" bounds:"1.."`
	Partial bool   `json:"partial"`
	mapping.Texts
}

// source fills in what the kind says, and checks what belongs together.
func (d *document) source() (*Source, error) {
	t, k := &d.Texts, kindOf(d.Kind)
	arrival := d.Order == "arrival"
	switch {
	case k == nil:
		return nil, invalid.New(invalid.Unknown, "kind",
			fmt.Sprintf("%q is not known: there are %s", d.Kind, strings.Join(Kinds(), ", ")))
	case !sourceName.MatchString(d.Name):
		return nil, invalid.New(invalid.Malformed, "name",
			"must be 1 to 64 letters, digits, '.', '-' or '_'")
	case d.Order != "" && !arrival:
		return nil, invalid.New(invalid.Unknown, "order",
			fmt.Sprintf(`must be "arrival": it is %.40q; other orders are said by seq or by key`, d.Order))
	case arrival && t.Key != "":
		return nil, invalid.New(invalid.Clash, "order", "is given beside key, which says another one")
	case d.Partial && k != &kafkaKind:
		return nil, invalid.New(invalid.Misplaced, "partial",
			"is for kafka: the mappings of the others take partial answers")
	case t.Seq+t.Key+t.KeyType == "" && !arrival && k.key != "":
		t.Key, t.KeyType = "@"+k.key, string(k.keyType)
	}
	t.Queue = cmp.Or(t.Queue, "@"+k.queue)
	if t.Seq == "" {
		t.ID = cmp.Or(t.ID, "@"+k.id)
	}
	if t.Each == "" {
		t.Body = cmp.Or(t.Body, "@"+k.body)
	}
	of := mapping.Kind{Source: d.Name, Variables: k.fields, Volatile: k.volatile}
	if of.Volatile == nil {
		of.Variables = append([]string{record}, of.Variables...)
	}
	m, err := t.Parse(of)
	if err != nil {
		return nil, err
	}
	if arrival && t.Seq != "" {
		m.Kind = cursor.KindArrival
	}
	return &Source{Name: d.Name, Kind: d.Kind, Partial: d.Partial, Mapping: m, kind: k}, nil
}

// MaxText is how many bytes a source's description has at most: all of a function's environment has
// 4 KB.
const MaxText = 3072

// Source is where records come from, and what becomes of them.
type Source struct {
	// Name is the source's own, and begins its queues' names where it says nothing else.
	Name string
	// Kind is what its records are, by its name.
	Kind string
	// Mapping is how its records become messages. A message with a seq is known by that, and has an
	// id only where the source says so: a sender that puts the same one twice gives the second
	// another id of AWS's.
	*mapping.Mapping
	// Partial tells that the event source mapping of a Kafka source takes partial answers. Those of
	// the others always do.
	Partial bool

	kind *kind
}
