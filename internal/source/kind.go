package source

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/streamsort/streamsort/internal/sortkey"
)

type kind struct {
	name string
	// events are what AWS calls it in "eventSource"; none where it is called otherwise.
	events []string
	// read reads a record.
	read func(raw json.RawMessage) (parts, error)
	// fields are the names of its fields, volatile those among them whose value may differ from one
	// delivery of a record to the next: they make no part of a message.
	fields, volatile []string
	// body is the field that is the body where the source says nothing else.
	body string
	// queue, key with keyType, and id are the fields that are these where the source says nothing
	// else. Without a key, that is arrival order.
	queue, key string
	keyType    sortkey.KeyType
	id         string
}

// parts are a record's fields by their names: a text ([string]), a number ([json.Number]), or
// bytes. A field that the record has not is left out.
type parts map[string]any

// record is the field that each kind has: all of the record, as AWS has it.
const record = "record"

// reading is a kind's read, of a record in JSON.
func reading[T any](name string,
	partsOf func(T) (parts, error)) func(json.RawMessage) (parts, error) {
	return func(raw json.RawMessage) (parts, error) {
		var r T
		if err := json.Unmarshal(raw, &r); err != nil {
			return nil, unread(name, err)
		}
		return partsOf(r)
	}
}

// kinds are all of them. A new one is a file here, and a line.
var kinds = []*kind{
	&sqsKind,
	&sqsFIFOKind,
	&snsKind,
	&eventBridgeKind,
	&kinesisKind,
	&s3Kind,
	&dynamoDBKind,
	&kafkaKind,
}

// Kinds are the names of all kinds.
func Kinds() []string {
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

// FieldsOf are the names of a kind's fields, in the order of the alphabet; nil where there is no
// such kind.
func FieldsOf(name string) []string {
	k := kindOf(name)
	if k == nil {
		return nil
	}
	return slices.Sorted(slices.Values(append([]string{record}, k.fields...)))
}

func kindOf(name string) *kind {
	for _, k := range kinds {
		if k.name == name {
			return k
		}
	}
	return nil
}

// set sets a field, a text or a number, unless it is empty.
func (p parts) set(name string, value any) {
	if value != "" && value != json.Number("") {
		p[name] = value
	}
}

// digits sets a field that is an integer, given by its digits: those of some begin with zeros.
func (p parts) digits(name, value string) {
	if value != "" {
		p[name] = json.Number(cmp.Or(strings.TrimLeft(value, "0"), "0"))
	}
}

// millis sets a time that is given in milliseconds since 1970, as a key's time has it: in seconds.
func (p parts) millis(name string, value json.Number) {
	if n, err := value.Int64(); err == nil && n >= 0 {
		p[name] = json.Number(fmt.Sprintf("%d.%03d", n/1000, n%1000))
	}
}

// padded is a decimal number of any length as a text of so many digits: texts sort by their bytes,
// and so as the numbers do, to the last digit. A number that is longer, or is no number, is left
// out.
func padded(number string, width int) string {
	if number == "" || len(number) > width || strings.Trim(number, "0123456789") != "" {
		return ""
	}
	return strings.Repeat("0", width-len(number)) + number
}

func lastOf(text, separator string) string { return text[strings.LastIndex(text, separator)+1:] }

var errNotRecord = errors.New("cannot be read as a record of this kind")

func unread(k string, err error) error {
	return fmt.Errorf("%w (%s): %w", errNotRecord, k, err)
}
