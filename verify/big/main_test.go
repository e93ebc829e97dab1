package main

import (
	"bytes"
	"testing"
)

// TestShort runs every case at a hundredth of its size.
func TestShort(t *testing.T) {
	var out bytes.Buffer
	if err := run([]string{"-part", "100"}, &out); err != nil {
		t.Error(err)
	}
	t.Log(out.String())
}

// TestABrokenBound is an error.
func TestABrokenBound(t *testing.T) {
	if atMost("requests", 2, 1) == nil || atMost("requests", 1, 1) != nil {
		t.Error("a bound is not held to")
	}
}
