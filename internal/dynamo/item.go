package dynamo

import (
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Item is an item, a key or an image as the SDK has it.
type Item = map[string]types.AttributeValue

// Text is a string as the SDK has it.
func Text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// Blob is bytes as the SDK has them.
func Blob(b []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }

// Number is an integer as the SDK has it.
func Number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// Millis is a time as the tables keep it, in milliseconds since 1970.
func Millis(t time.Time) types.AttributeValue { return Number(t.UnixMilli()) }

// Decoder reads attributes and keeps the first error in Err, so that an item is
// decoded in one go and checked once.
type Decoder struct {
	Item Item
	Err  error
	// Failed is the attribute that Err is about.
	Failed string
}

// Fail notes what is wrong with an attribute.
func (d *Decoder) Fail(name, problem string) {
	if d.Err == nil {
		d.Err, d.Failed = fmt.Errorf("attribute %q %s", name, problem), name
	}
}

// Text reads a string that must be there.
func (d *Decoder) Text(name string) string {
	s, ok := d.Item[name].(*types.AttributeValueMemberS)
	if !ok {
		d.Fail(name, "is missing or not a string")
		return ""
	}
	return s.Value
}

// TextOr reads a string that may be missing.
func (d *Decoder) TextOr(name, otherwise string) string {
	if _, ok := d.Item[name]; !ok {
		return otherwise
	}
	return d.Text(name)
}

// Number reads an integer that must be there.
func (d *Decoder) Number(name string) int64 {
	n, ok := d.Item[name].(*types.AttributeValueMemberN)
	if !ok {
		d.Fail(name, "is missing or not a number")
		return 0
	}
	value, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil {
		d.Fail(name, "is not a 64-bit integer")
	}
	return value
}

// MillisOr reads a time that may be missing: the zero time then.
func (d *Decoder) MillisOr(name string) time.Time {
	if _, ok := d.Item[name]; !ok {
		return time.Time{}
	}
	return time.UnixMilli(d.Number(name)).UTC()
}

// BytesOr reads bytes that may be missing: nil then.
func (d *Decoder) BytesOr(name string) []byte {
	value, ok := d.Item[name]
	if !ok {
		return nil
	}
	b, ok := value.(*types.AttributeValueMemberB)
	if !ok {
		d.Fail(name, "is not binary")
		return nil
	}
	return b.Value
}
