package streamsort

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// changedWebhooks is the file that changedProps' senders make.
const changedWebhooks = `{"sources":[` +
	`{"name":"github","scheme":"github","secret":"arn:aws:ssm:eu-west-1:123456789012:parameter/webhooks/github",` +
	`"queue":{"path":"repository.full_name","default":"other"},"attributes":{"event":"X-GitHub-Event"}},` +
	`{"name":"bank","scheme":"hmac","secret":"${STREAMSORT_WEBHOOK_SECRET_1}","key":"arn:aws:kms:eu-west-1:123456789012:key/1234-abcd","tolerance":"1m",` +
	`"signature":{"header":"X-Sig","prefix":"v0=","encoding":"base64","timestampHeader":"X-Time","template":"{timestamp}.{body}"},` +
	`"queue":{"header":"X-Account","prefix":""},"seq":"number","id":{"path":"event.id"},"maxBody":1000}]}`

// What a file says is what the properties say.
func TestWebhooksFile(t *testing.T) {
	got, err := Props{WebhooksFile: "testdata/webhooks.json"}.readWebhooks()
	if err != nil {
		t.Fatal(err)
	}
	want := changedProps().Webhooks
	want[1].Secret = new("arn:aws:secretsmanager:eu-west-1:123456789012:secret:bank-Ab12Cd")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(- want, + got)\n%s", diff)
	}
}

// The senders' route is the only one without authorisation, has a throttle of
// its own, and leads to no other function. Without senders there is none.
func TestWebhookRoute(t *testing.T) {
	for name, tmpl := range map[string]template{"default": defaults(), "changed": changed()} {
		open := 0
		for id, resource := range tmpl.Resources {
			if resource["Type"] != "AWS::ApiGatewayV2::Route" {
				continue
			}
			if properties := resource["Properties"].(object); properties["AuthorizationType"] == "NONE" {
				open++
				diff(t, id, "POST /webhooks/{source}", properties["RouteKey"])
			}
		}
		if want := map[string]int{"default": 0, "changed": 1}[name]; open != want {
			t.Errorf("%s: %d routes without authorisation, want %d", name, open, want)
		}
	}
	diff(t, "throttle", object{"POST /webhooks/{source}": object{"ThrottlingRateLimit": 30, "ThrottlingBurstLimit": 60}},
		changed().properties(t, "ApiStage", "AWS::ApiGatewayV2::Stage")["RouteSettings"])
	diff(t, "the stage waits for the route", []any{"PostWebhooksRoute"}, changed().Resources["ApiStage"]["DependsOn"])
	diff(t, "function", ref("WebhookAlias"), changed().properties(t, "ApiWebhookIntegration", "AWS::ApiGatewayV2::Integration")["IntegrationUri"])
	permission := changed().properties(t, "PostWebhooksPermission", "AWS::Lambda::Permission")
	diff(t, "permission", ref("WebhookAlias"), permission["FunctionName"])
	if arn := name(permission["SourceArn"]); arn != "arn:AWS::Partition:execute-api:AWS::Region:AWS::AccountId:Api/*/POST/webhooks/{source}" {
		t.Errorf("the function may be called by %s", arn)
	}
}
