package streamsort

import (
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// TestEagerNames: process's name has its bound, and is made of the tables' names: stacks with
// tables of their own do not make it under one name.
func TestEagerNames(t *testing.T) {
	name, err := processName("orders-Beta.1", nil)
	check.That(t, err == nil && name == "orders-Beta-1-process", "%s, %v", name, err)
	id := strings.Repeat("a", 57)
	all := []Consumer{{Name: "books", Eager: true,
		Sink: &Sink{Kind: "lambda", ARN: new("arn:aws:lambda:eu-west-1:123456789012:function:books")}}}
	err = (&Props{Consumers: all}).withDefaults(id).validate(id)
	check.That(t, err != nil && strings.Contains(err.Error(), "has 65 characters; 64 is the most"),
		"error %v", err)
	all[0].Eager = false
	err = (&Props{Consumers: all}).withDefaults(id).validate(id)
	check.That(t, err == nil, "%v", err)
}
