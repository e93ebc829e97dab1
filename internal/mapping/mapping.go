// Package mapping makes messages of events, in the same words for raw events, webhooks and the
// sources of AWS: queue, seq, id, key, prev, body and attributes are each a path.
//
//	list  = path { "," path }            of key and id: at most 3
//	path  = term { "|" term }            alternatives: the first that is present
//	term  = [ value [ "=" literal ] "&" ] value      where the first is present, or 'one|of|these'
//	value = steps | "@" variable [ "(" argument ")" ] [ steps ] | literal
//	steps = name { "." name | "[" digits "]" }       literal = "'" text "'"
//
// A backslash in a name stands before any of . , | [ ] @ ' = & and itself. A value is absent where
// it is missing, null, or an empty text; where null is on the way to it; and where a step leads
// into what is no object or no list. [Event] has the variables:
//
//	@header(NAME)  a header of the request         @form(NAME)  a field of a form
//	@received      the time of receipt, of a key   @digest      the SHA-256 of the event, in hex
//	@event         the whole event, and @index the element's place, beside each
//
// and those of a [Kind]. Each is a list too: "entry[]" makes an event of each element.
//
// Call [Texts.Parse] once; [Mapping.Split] and [Mapping.Message] for each event. Errors are
// [invalid.Error]s: what Parse refuses can work for no event; one of Message names the path, and
// what stands there.
package mapping

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
	"github.com/streamsort/streamsort/pkg/tenant"
)

// The variables that are none of a kind's own.
const header, form, received, digest, whole, index = "header", "form", "received", "digest",
	"event", "index"

// ReceivedAttribute is the attribute of a message whose key is the time of receipt; its value is
// "key".
const ReceivedAttribute = "streamsort-received"

// MaxAttributes is how many attributes a mapping names at most, MaxEach how many messages an event
// is at most.
const MaxAttributes, MaxEach = 10, 2000

// Texts are a mapping as it is written, in JSON or in a query.
type Texts struct {
	Queue   string `json:"queue" bounds:"1.." like:"the path order.id | 'other', @header(X-Id) or 'fixed'"`
	Seq     string `json:"seq" bounds:"1.." like:"the path order.number"`
	First   string `json:"first" bounds:"1.." like:"here or 4711"`
	ID      string `json:"id" bounds:"1.." like:"the path order.id or @header(X-Id)"`
	Key     string `json:"key" bounds:"1.." like:"the path order.updated_at | @received"`
	KeyType string `json:"keyType" bounds:"1.." like:"time or number,text"`
	Prev    string `json:"prev" bounds:"1.." like:"the path order.previous"`
	Each    string `json:"each" bounds:"1.." like:"the path entry[]"`
	Body    string `json:"body" bounds:"1.." like:"the path order.items"`
	// Prefix stands before queues that are found; nil is the source's name and a slash.
	Prefix     *string           `json:"prefix"`
	Attributes map[string]string `json:"attributes" like:"the path order.kind or @header(X-Event)"`
}

// None reports whether nothing is set.
func (t *Texts) None() bool {
	return t.Queue+t.Seq+t.First+t.ID+t.Key+t.KeyType+t.Prev+t.Each+t.Body == "" && t.Prefix == nil &&
		t.Attributes == nil
}

// Default gives a mapping what others have and it does not.
func (t *Texts) Default(others Texts) {
	for to, text := range map[*string]string{
		&t.Queue: others.Queue, &t.Seq: others.Seq, &t.First: others.First, &t.ID: others.ID,
		&t.Key: others.Key, &t.KeyType: others.KeyType, &t.Prev: others.Prev, &t.Each: others.Each, &t.Body: others.Body,
	} {
		*to = cmp.Or(*to, text)
	}
	if t.Attributes == nil {
		t.Attributes = others.Attributes
	}
}

// Read reads a mapping that is a JSON document.
func Read(document []byte, k Kind) (*Mapping, error) {
	var t Texts
	if err := strictjson.Decode(document, &t); err != nil {
		return nil, err
	}
	return t.Parse(k)
}

// Kind is what events are.
type Kind struct {
	// Source is the name of where they come from, which begins their queues' names; empty for raw
	// events, whose callers may name any.
	Source string
	// Request: they come by HTTP requests, and have @header and @form.
	Request bool
	// Variables are those of the kind; Volatile ones are refused as a whole.
	Variables, Volatile []string
	// Known: without a seq, a key and an id too, a repeat is known, by the call's own key.
	Known bool
}

func (k *Kind) variables(each bool) []string {
	all := []string{received, digest, whole}
	if each {
		all = append(all, index)
	}
	if k.Request {
		all = append(all, header, form)
	}
	all = append(append(all, k.Variables...), k.Volatile...)
	slices.Sort(all)
	return all
}

// Mapping is how an event becomes a message, or several.
type Mapping struct {
	// KeyType is the type of the keys, where it is given; Kind is what queues must be of, where
	// that is said.
	KeyType sortkey.KeyType
	Kind    cursor.Kind
	// First is where a queue with seqs starts that a message makes; nil where nothing says it.
	First *int64
	// Prefix stands before queues that are found; Fixed is the queue, where it is always the same.
	Prefix, Fixed string

	queue, seq, body path
	id, key, prev    list
	each             *term
	attributes       []attribute
	source           string
}

type attribute struct {
	name string
	path path
}

// Numbered and Keyed say what the messages have; neither means arrival order.
func (m *Mapping) Numbered() bool { return m.seq != nil }

// Keyed says that the messages have keys.
func (m *Mapping) Keyed() bool { return m.key != nil }

// Splits reports whether an event is several messages.
func (m *Mapping) Splits() bool { return m.each != nil }

// Whole reports whether the body of a message is all of the event.
func (m *Mapping) Whole() bool { return m.body == nil && m.each == nil }

// InDocument reports whether a path leads into the event's document, which is JSON then.
func (m *Mapping) InDocument() bool {
	if m.each != nil {
		return m.each.variable != form
	}
	paths := slices.Concat(list{m.queue, m.seq, m.body}, m.id, m.key, m.prev)
	for _, a := range m.attributes {
		paths = append(paths, a.path)
	}
	return slices.ContainsFunc(paths, func(p path) bool {
		return slices.ContainsFunc(p, func(t term) bool {
			return t.leads() || t.when != nil && t.when.of.leads()
		})
	})
}

// leads reports whether a term leads into the event's document.
func (t *term) leads() bool { return t.steps != nil && (t.variable == "" || t.variable == whole) }

// Parse reads a mapping of events of a kind.
func (t Texts) Parse(k Kind) (*Mapping, error) {
	if err := t.check(k); err != nil {
		return nil, err
	}
	m := &Mapping{source: k.Source}
	one := func(field, text string, many bool) (list, error) {
		if text == "" {
			return nil, nil
		}
		l, err := parse(text)
		if err == nil {
			err = l.check(&k, t.Each != "")
		}
		if err == nil && len(l) > 1 && !many {
			err = fail(invalid.Malformed, "",
				`has %d paths: one is taken (a comma in a name is written \,)`, len(l))
		}
		if err == nil && field != "key" && l.has(received) {
			err = invalid.New(invalid.Misplaced, "",
				"has @received, which is for key: a repeat comes at another time, and would be "+
					"another message")
		}
		if err != nil {
			return nil, invalid.Named(field, err)
		}
		return l, nil
	}
	for _, to := range []struct {
		field, text string
		one         *path
		many        *list
	}{
		{"queue", t.Queue, &m.queue, nil},
		{"seq", t.Seq, &m.seq, nil},
		{"body", t.Body, &m.body, nil},
		{"id", t.ID, nil, &m.id},
		{"key", t.Key, nil, &m.key},
		{"prev", t.Prev, nil, &m.prev},
	} {
		l, err := one(to.field, to.text, to.many != nil)
		switch {
		case err != nil:
			return nil, err
		case to.many != nil:
			*to.many = l
		case l != nil:
			*to.one = l[0]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Attributes)) {
		l, err := one("attributes."+name, t.Attributes[name], false)
		if err == nil && (name == "" || l == nil) {
			err = invalid.New(invalid.Missing, "attributes", "has a name, or a path, that is empty")
		}
		if err != nil {
			return nil, err
		}
		m.attributes = append(m.attributes, attribute{name, l[0]})
	}
	return m, m.finish(t, k)
}

func (l list) has(variable string) bool {
	return slices.ContainsFunc(l, func(p path) bool {
		return slices.ContainsFunc(p, func(t term) bool { return t.variable == variable })
	})
}

// check is what does not belong together.
func (t *Texts) check(k Kind) error {
	switch {
	case t.Queue == "":
		return invalid.New(invalid.Missing, "queue",
			"is missing: it must be the path of the queue's name, or that name in quotes: 'orders'")
	case t.Key != "" && t.Seq != "":
		return invalid.New(invalid.Clash, "key",
			"must not be given beside seq: a numbered queue sorts by seqs, a keyed one by keys")
	case t.Seq == "" && t.First != "":
		return invalid.New(invalid.Misplaced, "first", "must not be given without a seq")
	case t.Key == "" && t.KeyType != "":
		return invalid.New(invalid.Misplaced, "keyType", "must not be given without a key")
	case t.Key != "" && t.KeyType == "" && k.Source != "":
		return invalid.New(invalid.Missing, "keyType",
			"is missing beside key: it must be a type of keys, such as time, number or "+
				"time,text (docs/concepts.md#keys)")
	case t.Key == "" && t.Prev != "":
		return invalid.New(invalid.Misplaced, "prev",
			"must not be given without a key: only messages of a keyed queue name the one before")
	case t.Key != "" && t.ID == "":
		return invalid.New(invalid.Missing, "id",
			"is missing beside key: in a keyed queue, a message is known by its key and its id")
	case t.Seq == "" && t.ID == "" && !k.Known:
		return invalid.New(invalid.Missing, "seq",
			"is missing, and so is id: a numbered queue needs a seq; one in arrival order an "+
				"id, such as @digest, or the header Idempotency-Key; a keyed one a key and an id")
	case len(t.Attributes) > MaxAttributes:
		return fail(invalid.OutOfRange, "attributes",
			"are %d: at most %d are taken", len(t.Attributes), MaxAttributes)
	}
	return nil
}

// finish checks what is found in no event.
func (m *Mapping) finish(t Texts, k Kind) (err error) {
	if t.KeyType != "" {
		if m.KeyType, err = sortkey.ParseKeyType(t.KeyType); err != nil {
			return err
		}
	}
	if t.First != "" {
		if m.First, err = jsonseq.First(t.First); err != nil {
			return err
		}
	}
	types := strings.Split(string(m.KeyType), ",")
	for i, p := range m.key {
		switch {
		case m.KeyType == "":
		case len(m.key) > 1 && len(m.key) != len(types):
			return fail(invalid.Clash, "key",
				"has %d paths, and keyType has %d parts: %s", len(m.key), len(types), m.KeyType)
		case list{p}.has(received) &&
			(len(m.key) != len(types) || types[i] != "time" && types[i] != "utc"):
			return fail(invalid.Clash, "key",
				"has @received, which is a time, and keyType has none in its place: %s", m.KeyType)
		}
	}
	varies := func(p path) bool {
		return !slices.ContainsFunc(p, func(t term) bool { return t.literal != "" })
	}
	for _, of := range []struct {
		field string
		list  list
	}{{"seq", list{m.seq}}, {"id", m.id}, {"prev", m.prev}} {
		if len(of.list) > 0 && of.list[0] != nil && !slices.ContainsFunc(of.list, varies) {
			return invalid.New(invalid.Clash, of.field,
				"is the same text in several messages ("+of.list.String()+
					"): it must differ from one to the next")
		}
	}
	if err := m.setQueue(t, k); err != nil {
		return err
	}
	return m.setEach(t.Each, k)
}

// setQueue sets what the queue's name is, or begins with.
func (m *Mapping) setQueue(t Texts, k Kind) error {
	last := m.queue[len(m.queue)-1].literal
	if m.Fixed = m.queue.fixed(); m.Fixed != "" {
		if t.Prefix != nil {
			return invalid.New(invalid.Clash, "prefix",
				"is given beside a fixed queue, whose name is whole: leave it out")
		}
		return cursor.ValidateQueue(last)
	}
	switch {
	case t.Prefix != nil && tenant.IsCut(*t.Prefix):
		// The sender would choose the tenant, or a part of it.
		return invalid.New(invalid.Malformed, "prefix",
			"begins with '@', and with no whole tenant: it must be like @acme/, or begin otherwise")
	case t.Prefix != nil:
		m.Prefix = *t.Prefix
	case k.Source != "":
		m.Prefix = k.Source + "/" // a sender must not choose another's queues
	}
	if k.Source != "" && m.Prefix == "" && strings.HasPrefix(last, "@") {
		return invalid.New(invalid.Misplaced, "queue",
			"has a default that begins with '@', as the queues of tenants do: a source without "+
				"a prefix may name none")
	}
	if len(m.Prefix)+max(1, len(last)) > cursor.MaxQueueName {
		return fail(invalid.TooLarge, "queue", "has more than %d bytes", cursor.MaxQueueName)
	}
	return nil
}

// FixedQueue is the queue that a path of the queue always names; empty where it is found in each
// event, or the path is not right.
func FixedQueue(text string) string {
	if l, err := parse(text); err == nil && len(l) == 1 {
		return l[0].fixed()
	}
	return ""
}

// fixed is the text that a path is in every event; empty where it may differ.
func (p path) fixed() string {
	if len(p) == 1 && p[0].when == nil {
		return p[0].literal
	}
	return ""
}

// setEach reads where the list of an event's messages is.
func (m *Mapping) setEach(text string, k Kind) error {
	if text == "" {
		return nil
	}
	l, err := parse(text)
	if err != nil {
		return invalid.Named("each", err)
	}
	if t := &l[0][0]; len(l) == 1 && len(l[0]) == 1 && t.when == nil && len(t.steps) > 0 &&
		t.steps[len(t.steps)-1].all {
		m.each = t
		root := *t // the variable alone: its steps may have []
		if root.steps = nil; root.variable == "" {
			return nil
		}
		if err := k.check(&root, false); err != nil {
			return invalid.Named("each", err)
		}
		if root.variable != form && !slices.Contains(k.Variables, root.variable) {
			return invalid.New(invalid.Misplaced, "each",
				"has @"+root.variable+", which is no list: write a path in the event")
		}
		return nil
	}
	return fail(invalid.Malformed, "each",
		"must be one path that ends with [], such as entry[], or [] for an event that is a "+
			"list: it is %q", text)
}
