// Package bounds has the error of a number, or of a time, that is out of its bounds.
package bounds

import (
	"cmp"
	"fmt"

	"github.com/streamsort/streamsort/pkg/invalid"
)

// Check is nil, or an [invalid.Error] that names the field, its value and both bounds.
func Check[T cmp.Ordered](field string, value, least, most T) error {
	if value >= least && value <= most {
		return nil
	}
	return invalid.New(invalid.OutOfRange, field, fmt.Sprintf("is %v: it must be from %v to %v", value, least, most))
}
