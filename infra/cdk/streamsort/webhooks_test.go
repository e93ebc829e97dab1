package streamsort

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a file says is what the properties say.
func TestWebhooksFile(t *testing.T) {
	got, err := Props{WebhooksFile: "testdata/webhooks.json"}.readWebhooks()
	if err != nil {
		t.Fatal(err)
	}
	want := changedProps().Webhooks
	want[1].Secret = new("arn:aws:secretsmanager:eu-west-1:123456789012:secret:bank-Ab12Cd")
	want[1].VerifyToken = new("arn:aws:secretsmanager:eu-west-1:123456789012:secret:bank-token-Ef34Gh")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(- want, + got)\n%s", diff)
	}
}

// The senders' routes are the only ones without authorisation: one for each, and another for the
// method of its challenge. Without senders there are no such routes.
func TestWebhookRoutes(t *testing.T) {
	for name, tmpl := range map[string]template{"default": defaults(), "changed": changed()} {
		open := object{}
		for _, resource := range tmpl.Resources {
			if resource["Type"] != "AWS::ApiGatewayV2::Route" {
				continue
			}
			if properties := resource["Properties"].(object); properties["AuthorizationType"] == "NONE" {
				open[properties["RouteKey"].(string)] = true
			}
		}
		want := map[string]object{"default": {}, "changed": {
			"POST /webhooks/github": true, "OPTIONS /webhooks/github": true, "POST /webhooks/bank": true, "GET /webhooks/bank": true,
		}}[name]
		diff(t, name+": routes without authorisation", want, any(open))
	}
}

// Names that differ make logical ids that differ.
func TestIDPart(t *testing.T) {
	parts := map[string]string{}
	for _, name := range []string{"ab", "a.b", "a-b", "a_b", "ab.", "...", "---"} {
		part := idPart(name)
		if other, taken := parts[part]; taken || notInID.MatchString(part) {
			t.Errorf("%q makes %q, as %q does", name, part, other)
		}
		parts[part] = name
	}
	if idPart("github") != "github" {
		t.Errorf("github makes %q", idPart("github"))
	}
}
