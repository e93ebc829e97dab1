package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/xorack"
)

const tag = "databases/test/1"

var errLost = errors.New("the connection broke")

// work is what waits to be done: by which function, and what.
type work struct {
	of      string
	payload []byte
}

// do runs a function once.
func do(t *testing.T, s *steps, w work) error {
	switch w.of {
	case "database":
		m := cursor.Message{Queue: "databases/test", Seq: 1, Body: w.payload}
		return s.databases(t.Context(),
			delivery.Batch{Queue: m.Queue, To: 1, Messages: []cursor.Message{m}})
	case "file":
		return call(t, w.payload, s.file)
	}
	return call(t, w.payload, s.word)
}

func call[W any](t *testing.T, payload []byte, handle func(context.Context, W) error) error {
	var w W
	check.OK(t, json.Unmarshal(payload, &w))
	return handle(t.Context(), w)
}

func TestABodyThatIsNoDatabaseIsNotRepeated(t *testing.T) {
	acker, err := xorack.New(xorack.NewMemory(), nil)
	check.OK(t, err)
	err = do(t, &steps{acker: acker}, work{"database", []byte(`"canary"`)})
	if err == nil || !strings.Contains(err.Error(), "database 1: body is not a database") ||
		strings.Contains(err.Error(), "canary") {
		t.Errorf("error %v", err)
	}
	_, err = acker.Get(t.Context(), tag)
	check.That(t, errors.Is(err, xorack.ErrTagNotFound), "there is a chain: %v", err)
}
