package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/tenant"
)

var sourceName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// Read reads a source's description:
//
//	{"name": "orders", "kind": "kinesis"}
//
//	{"name": "payments", "kind": "sqs",
//	 "queue": {"path": "account.id", "prefix": "payments/"}, "seq": {"path": "number"}}
//
//	{"name": "shop", "kind": "eventbridge",
//	 "queue": {"path": "order.id"}, "key": [{"field": "time"}, {"path": "version"}], "keyType": "time,number",
//	 "prev": {"path": "before"}, "attributes": {"type": {"field": "detailType"}}, "body": {"field": "record"}}
//
//	{"name": "logs", "kind": "kafka", "order": "arrival", "partial": true,
//	 "attributes": {"host": {"record": "headers"}}}
//
// A place is one of: a field of the kind; a path in what the record carries, which is JSON
// then; a path in the record itself, as AWS has it; or the value itself ("fixed"). What is
// left out is as the kind has it.
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
	d := &draft{given: map[string]bool{}}
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
		d.given[m.Name] = true
		if err := d.member(m); err != nil {
			return nil, fmt.Errorf("%s%w", m.Name, err)
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
	arrival bool
	// given has the members that are there, prefixed tells that the queue has a prefix, if
	// only an empty one.
	given    map[string]bool
	prefixed bool
}

// member reads one member. The error begins behind its name.
func (d *draft) member(m strictjson.Member) (err error) {
	switch m.Name {
	case "kind":
	case "name":
		if d.Name, err = strictjson.Text(m.Value); err == nil && !sourceName.MatchString(d.Name) {
			err = fmt.Errorf("must be 1 to %d letters, digits, '.', '-' or '_'", MaxName)
		}
	case "queue":
		return d.queueMember(m.Value)
	case "seq":
		d.Seq, err = d.place(m.Value)
		return err
	case "id":
		d.ID, err = d.place(m.Value)
		return err
	case "prev":
		d.Prev, err = d.place(m.Value)
		return err
	case "body":
		d.Body, err = d.place(m.Value)
		return err
	case "key":
		return d.keyMember(m.Value)
	case "keyType":
		var text string
		if text, err = strictjson.Text(m.Value); err == nil {
			if d.KeyType, err = cursor.ParseKeyType(text); err != nil {
				err = errors.New(strings.TrimPrefix(err.Error(), "keyType "))
			}
		}
	case "attributes":
		return d.attributesMember(m.Value)
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
		err = errors.New("is not known: there are name, kind, queue, seq, key, keyType, id, prev, body, attributes, order and partial")
	}
	if err != nil {
		return fmt.Errorf(" %w", err)
	}
	return nil
}

// finish fills in what the kind says, and checks what belongs together.
func (d *draft) finish() error {
	if d.Name == "" {
		return errors.New("name is missing")
	}
	switch {
	case d.Numbered() && d.Keyed():
		return errors.New("key is given beside seq: a numbered queue sorts by seqs, a keyed one by keys")
	case d.arrival && (d.Numbered() || d.Keyed()):
		return errors.New("order is given beside seq or key, which say another one")
	case d.given["keyType"] != d.Keyed():
		return errors.New("key and keyType must both be given, or none of them")
	case d.given["partial"] && d.kind != &kafkaKind:
		return errors.New("partial is for kafka: the mappings of the others take partial answers")
	}
	if !d.Numbered() && !d.Keyed() && !d.arrival && d.kind.key != "" {
		d.Key, d.KeyType = []Place{{Field: d.kind.key}}, d.kind.keyType
	}
	if !d.Prev.none() && !d.Keyed() {
		return errors.New("prev is given without a key: only messages of a keyed queue name the one before")
	}
	if d.Keyed() {
		if parts := strings.Count(string(d.KeyType), ","); !strings.Contains(string(d.KeyType), "rank") && parts+1 != len(d.Key) {
			return fmt.Errorf("key has %d parts, and keyType another number of them", len(d.Key))
		}
	}
	if !d.Numbered() {
		d.ID = or(d.ID, d.kind.id)
	}
	d.Body = or(d.Body, d.kind.body)
	if d.Queue.none() {
		d.Queue = Place{Field: d.kind.queue}
	}
	if d.Prefix == "" && strings.HasPrefix(d.Default, "@") {
		// Its records' own queues are none of a tenant's, and quotas are kept by the event.
		return errors.New("queue.default begins with '@', as the queues of tenants do: a source without a prefix may name none")
	}
	// Whoever writes the records must not choose the queues of others.
	if d.Queue.Fixed == "" && !d.prefixed {
		d.Prefix = d.Name + "/"
	}
	if longest := max(len(d.Queue.Fixed), len(d.Default), 1); len(d.Prefix)+longest > cursor.MaxQueueName {
		return fmt.Errorf("queue has more than %d bytes", cursor.MaxQueueName)
	}
	return nil
}

// or is a place, or a field of the kind where there is none.
func or(p Place, field string) Place {
	if p.none() {
		return Place{Field: field}
	}
	return p
}

// queueMember reads where the queue's name is.
func (d *draft) queueMember(raw json.RawMessage) error {
	members, err := strictjson.Members(raw)
	if err != nil {
		return fmt.Errorf(" %w", err)
	}
	var places []strictjson.Member
	for _, m := range members {
		switch m.Name {
		case "prefix":
			d.prefixed = true
			if d.Prefix, err = strictjson.Text(m.Value); err == nil && tenant.IsCut(d.Prefix) {
				// The record would choose the tenant, or a part of it.
				err = errors.New("begins with '@', and with no whole tenant: it must be like @acme/, or begin otherwise")
			}
		case "default":
			if d.Default, err = strictjson.Text(m.Value); err == nil && d.Default == "" {
				err = errors.New("is empty")
			}
		default:
			places = append(places, m)
		}
		if err != nil {
			return fmt.Errorf(".%s %w", m.Name, err)
		}
	}
	if len(places) > 0 {
		if d.Queue, err = d.placeOf(places); err != nil {
			return err
		}
	}
	if d.Queue.Fixed != "" {
		if d.prefixed || d.Default != "" {
			return errors.New(" has a prefix or a default beside fixed, which is the whole name")
		}
		if err := cursor.ValidateQueue(d.Queue.Fixed); err != nil {
			return fmt.Errorf(".fixed: %w", err)
		}
	}
	return nil
}

// keyMember reads where the key's parts are: a place, or a list of up to three.
func (d *draft) keyMember(raw json.RawMessage) error {
	list := []json.RawMessage{raw}
	if strictjson.IsArray(raw) {
		var err error
		if list, err = strictjson.Elements(raw, cursor.MaxKeyParts); err != nil {
			return fmt.Errorf(" %w", err)
		}
		if len(list) == 0 {
			return errors.New(" is empty")
		}
	}
	for i, raw := range list {
		place, err := d.place(raw)
		if err != nil {
			return fmt.Errorf("[%d]%w", i, err)
		}
		d.Key = append(d.Key, place)
	}
	return nil
}

func (d *draft) attributesMember(raw json.RawMessage) error {
	members, err := strictjson.Members(raw)
	if err != nil {
		return fmt.Errorf(" %w", err)
	}
	if len(members) > MaxAttributes {
		return fmt.Errorf(" has %d: there may be %d", len(members), MaxAttributes)
	}
	d.Attributes = map[string]Place{}
	for _, m := range members {
		if m.Name == "" {
			return errors.New(" has a member without a name")
		}
		if d.Attributes[m.Name], err = d.place(m.Value); err != nil {
			return fmt.Errorf(".%s%w", m.Name, err)
		}
	}
	return nil
}

// place reads a place. The error begins behind its name.
func (d *draft) place(raw json.RawMessage) (Place, error) {
	members, err := strictjson.Members(raw)
	if err != nil {
		return Place{}, fmt.Errorf(" %w", err)
	}
	return d.placeOf(members)
}

func (d *draft) placeOf(members []strictjson.Member) (p Place, err error) {
	if len(members) != 1 {
		return p, fmt.Errorf(" has %d members: it must have one of field, path, record and fixed", len(members))
	}
	m := members[0]
	text, err := strictjson.Text(m.Value)
	if err == nil {
		switch m.Name {
		case "field":
			p.Field, err = text, d.kind.checkField(text)
		case "path":
			p.Path, err = strictjson.ParseFieldPath(text)
		case "record":
			p.Record, err = strictjson.ParseFieldPath(text)
		case "fixed":
			if p.Fixed = text; text == "" {
				err = errors.New("is empty")
			}
		default:
			err = errors.New("is not known: there are field, path, record and fixed")
		}
	}
	if err != nil {
		return p, fmt.Errorf(".%s %w", m.Name, err)
	}
	return p, nil
}
