package sink

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/sink/kind"
)

// kafka is a kind whose sinks are nobody's.
type kafka struct{ kind.Sink }

func (k kafka) Open(kind.Options) (kind.Sink, error) { return k, nil }

// A kind that is in the table is itself, and no other one.
func TestAKindIsItsOwn(t *testing.T) {
	before := kinds
	defer func() { kinds = before }()
	kinds = append(kinds[:len(kinds):len(kinds)], kind.Kind{Name: "kafka", Read: func(raw json.RawMessage) (kind.Settings, error) {
		check.That(t, string(raw) == `{"topic":"orders","kind":"kafka"}`, "a configuration %s", raw)
		return kafka{}, nil
	}})
	var c Config
	check.OK(t, json.Unmarshal([]byte(`{"topic":"orders","kind":"kafka"}`), &c))
	s, err := New(c, nil)
	if _, is := s.(kafka); !is || err != nil {
		t.Errorf("a sink of the kind kafka is a %T, %v", s, err)
	}
}

// One that is not in the table is refused, with the field and the kinds that are.
func TestUnknownKinds(t *testing.T) {
	for _, name := range []string{"kafka", "Lambda", "sqs ", "eventBridge"} {
		var c Config
		err := json.Unmarshal([]byte(`{"kind":"`+name+`","arn":"`+queueARN+`"}`), &c)
		if err == nil || !strings.HasPrefix(err.Error(), `kind "`+name+`" is not known`) || !c.IsZero() {
			t.Fatalf("%s: %v", name, err)
		}
		for _, known := range kinds {
			check.That(t, strings.Contains(err.Error(), known.Name), "%s: %v: no %s", name, err, known.Name)
		}
		if _, err := KindOf(name); err == nil {
			t.Errorf("%s is a kind", name)
		}
	}
}
