package streamsort

import (
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	paths "github.com/streamsort/streamsort/internal/mapping"
)

// webhook reaches the queues of its sources, and no other: names that a source gives whole or a
// prefix of are texts, whatever is in them.
func TestWebhookReachesItsQueuesAlone(t *testing.T) {
	secret := new("arn:aws:ssm:eu-west-1:123456789012:parameter/webhooks/it")
	_, _, sources, err := webhooksFile([]Webhook{
		{Name: "github", Preset: "github", Secret: secret, Queue: "repository.full_name"},
		{Name: "shop", Preset: "github", Secret: secret, Queue: "'${all} of *?'"},
		{Name: "acme", Preset: "github", Secret: secret, Queue: "q", Prefix: new("@acme/")},
		// Where a preset says the queue, it counts as if it was written.
		{Name: "meta", Preset: "meta", Secret: secret, VerifyToken: secret},
		{Name: "mail", Preset: "sendgrid", Secret: secret},
		{Name: "any", Preset: "github", Secret: secret, Queue: "q", Prefix: new("")},
	})
	check.OK(t, err)
	var reach []*paths.Mapping
	for _, w := range sources {
		reach = append(reach, w.Mapping)
	}
	want := map[string][]string{
		"ForAllValues:StringLike":    {"github/*", "${$}{all} of ${*}${?}", "@acme/*", "meta/*", "mail"},
		"ForAllValues:StringNotLike": {"@*"}, // any queue but tenants'
	}
	got := maps.Collect(ownQueues(reach...))
	check.That(t, reflect.DeepEqual(want, got), "%v, want %v", got, want)
}

// name is a resource of a statement, written shortly.
func name(resource any) string {
	function, ok := resource.(object)
	if !ok {
		return resource.(string)
	}
	var out strings.Builder
	switch {
	case function["Ref"] != nil:
		return function["Ref"].(string)
	case function["Fn::ImportValue"] != nil:
		return function["Fn::ImportValue"].(string)
	case function["Fn::GetAtt"] != nil:
		list := function["Fn::GetAtt"].([]any)
		return list[0].(string) + "." + list[1].(string)
	default:
		for _, part := range function["Fn::Join"].([]any)[1].([]any) {
			out.WriteString(name(part))
		}
	}
	return out.String()
}
