package delivery_test

import (
	"errors"

	"github.com/streamsort/streamsort/pkg/delivery"
)

// does is an order of a kind.
func does(kind string, o delivery.Order) delivery.Order {
	o.Kind = kind
	return o
}

func skips(o delivery.Order, seq int64) delivery.Order {
	o.Seq = seq
	return does("skip", o)
}

func redrives(o delivery.Order, seq int64) delivery.Order {
	o.Seq = seq
	return does("redrive", o)
}

func rewinds(o delivery.Order, start delivery.Start) delivery.Order {
	o.Start = start
	return does("rewind", o)
}

// refused reports whether an error is a refusal of a code.
func refused(err error, code string) bool {
	var wrong *delivery.RefusedError
	return errors.As(err, &wrong) && wrong.Code == code
}
