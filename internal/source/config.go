package source

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/streamsort/streamsort/internal/mapping"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/cursor"
)

var sourceName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// Read reads a source's description:
//
//	{"name": "orders", "kind": "kinesis"}
//
//	{"name": "payments", "kind": "sqs", "queue": "account.id", "prefix": "payments/", "seq": "number"}
//
//	{"name": "shop", "kind": "eventbridge",
//	 "queue": "order.id", "key": "@time,version", "keyType": "time,number",
//	 "prev": "before", "attributes": {"type": "@detailType"}, "body": "@record"}
//
//	{"name": "logs", "kind": "kafka", "order": "arrival", "partial": true,
//	 "attributes": {"host": "@record.headers[0].host"}}
//
//	{"name": "ledger", "kind": "kafka", "order": "arrival", "seq": "number"}
//
// The last one appends each record at exactly its seq to a queue in arrival order.
//
// The paths are those of package mapping: in what the record carries, which is JSON then; of
// the kind's fields, as variables; and in the record itself, as AWS has it, behind @record.
// What is left out is as the kind has it.
//
// It is read strictly: a member that is not known, given twice, or out of its bounds is an
// error that names it.
func Read(text []byte) (*Source, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("has %d bytes: at most %d are taken", len(text), MaxText)
	}
	members, err := strictjson.Members(text)
	if err != nil {
		return nil, err
	}
	d := &draft{}
	// The kind says which fields there are, wherever it stands.
	if raw, _ := strictjson.Take(members, "kind"); raw != nil {
		if d.Kind, err = strictjson.Text(raw); err != nil {
			return nil, fmt.Errorf("kind %w", err)
		}
	}
	if d.kind = kindOf(d.Kind); d.kind == nil {
		return nil, fmt.Errorf("kind %q is not known: there are %s", d.Kind, strings.Join(Kinds(), ", "))
	}
	for _, m := range members {
		if err := d.member(m); err != nil {
			return nil, err
		}
	}
	if err := d.finish(); err != nil {
		return nil, err
	}
	return &d.Source, nil
}

// draft is a source that is being read.
type draft struct {
	Source
	texts   mapping.Texts
	arrival bool
}

// member reads one member. The error begins with its name.
func (d *draft) member(m strictjson.Member) (err error) {
	switch m.Name {
	case "kind":
	case "name":
		if d.Name, err = strictjson.Text(m.Value); err == nil && !sourceName.MatchString(d.Name) {
			err = fmt.Errorf("must be 1 to %d letters, digits, '.', '-' or '_'", MaxName)
		}
	case "order":
		var text string
		if text, err = strictjson.Text(m.Value); err == nil && text != "arrival" {
			err = errors.New(`must be "arrival": other orders are said by seq or by key`)
		}
		d.arrival = err == nil
	case "partial":
		if err = json.Unmarshal(m.Value, &d.Partial); err != nil || string(m.Value) == "null" {
			err = errors.New("must be true or false")
		}
	default:
		if d.texts.Has(m.Name) {
			return d.texts.Read(m) // the error names the field
		}
		err = fmt.Errorf("is not known: there are name, kind, order, partial, attributes, prefix, %s", strings.Join(mapping.Names(), ", "))
	}
	if err != nil {
		return fmt.Errorf("%s %w", m.Name, err)
	}
	return nil
}

// finish fills in what the kind says, and checks what belongs together.
func (d *draft) finish() (err error) {
	t := &d.texts
	switch {
	case d.Name == "":
		return errors.New("name is missing")
	case d.arrival && t.Key != "":
		return errors.New("order is given beside key, which says another one")
	case d.Partial && d.kind != &kafkaKind:
		return errors.New("partial is for kafka: the mappings of the others take partial answers")
	case t.Seq+t.Key+t.KeyType == "" && !d.arrival && d.kind.key != "":
		t.Key, t.KeyType = "@"+d.kind.key, string(d.kind.keyType)
	}
	t.Queue = cmp.Or(t.Queue, "@"+d.kind.queue)
	if t.Seq == "" {
		t.ID = cmp.Or(t.ID, "@"+d.kind.id)
	}
	if t.Each == "" {
		t.Body = cmp.Or(t.Body, "@"+d.kind.body)
	}
	of := mapping.Kind{Source: d.Name, Variables: d.kind.fields, Volatile: d.kind.volatile}
	if of.Volatile == nil {
		of.Variables = append([]string{record}, of.Variables...)
	}
	if d.Mapping, err = t.Parse(of); err == nil && d.arrival && t.Seq != "" {
		d.Mapping.Kind = cursor.KindArrival
	}
	return err
}
