package streamsort

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
)

func TestConsumersFile(t *testing.T) {
	got := check.Get(Props{ConsumersFile: "testdata/consumers.json"}.readConsumers())
	want := []Consumer{
		changedProps().Consumers[0],
		{Name: "late", Start: "7", Sink: &Sink{Kind: "lambda", ARN: new("arn:aws:lambda:eu-west-1:123456789012:function:f")}},
	}
	check.Is(t, cmp.Diff(want, got), "", "(- want, + got)\n")
}
