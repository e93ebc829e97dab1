package streamsort

import (
	"strings"
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

// TestConsumersFileHasFormats: process knows the sinks of CloudEvents, and no sink that has one
// format alone is given another.
func TestConsumersFileHasFormats(t *testing.T) {
	to := func(format, kind, arn string) []Consumer {
		return []Consumer{{Name: "events", Sink: &Sink{Kind: kind, ARN: &arn, Format: format}}}
	}
	const bus, function = "arn:aws:events:eu-west-1:123456789012:event-bus/default", "arn:aws:lambda:eu-west-1:123456789012:function:f"
	got, _, err := consumersFile(to("cloudevents", "eventbridge", bus))
	if want := `{"consumers":[{"name":"events","sink":{"kind":"eventbridge","arn":"` + bus + `","format":"cloudevents"}}]}`; err != nil || got != want {
		t.Errorf("%s, %v", got, err)
	}
	for want, all := range map[string][]Consumer{
		"format is set: lambda has one format alone": to("cloudevents", "lambda", function),
		`"xml"`: to("xml", "eventbridge", bus),
	} {
		if _, _, err := consumersFile(all); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, which does not say %s", err, want)
		}
	}
}
