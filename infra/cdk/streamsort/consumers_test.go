package streamsort

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestConsumersFile(t *testing.T) {
	got, err := Props{ConsumersFile: "testdata/consumers.json"}.readConsumers()
	if err != nil {
		t.Fatal(err)
	}
	want := []Consumer{
		changedProps().Consumers[0],
		{Name: "late", Start: "7", Sink: &Sink{Kind: "lambda", ARN: new("arn:aws:lambda:eu-west-1:123456789012:function:f")}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(- want, + got)\n%s", diff)
	}
}
