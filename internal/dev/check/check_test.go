package check

import (
	"errors"
	"testing"
)

// TestTry: an error is returned, and a panic of the runtime's goes on.
func TestTry(t *testing.T) {
	wrong := errors.New("wrong")
	Fails(t, Try(func() { Get2(1, 2, wrong) }), wrong)
	defer func() { That(t, recover() != nil, "a panic did not go on") }()
	var none []int
	_ = Try(func() { none[0] = 1 })
}
