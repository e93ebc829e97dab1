package main

import (
	"encoding/json"
	"testing"
)

func TestTotal(t *testing.T) {
	var o order
	err := json.Unmarshal([]byte(`{"items":[{"cents":900},{"cents":300}]}`), &o)
	if got := o.total(); err != nil || got != 1200 {
		t.Errorf("total = %d, want 1200; %v", got, err)
	}
}

func TestHandle(t *testing.T) {
	for body, good := range map[string]bool{`{"items": []}`: true, `"canary"`: false} {
		err := handle(t.Context(),
			batch{Queue: "orders", Messages: []message{{Seq: "1", BodyBase64: []byte(body)}}})
		if (err == nil) != good {
			t.Errorf("%s: %v", body, err)
		}
	}
}
