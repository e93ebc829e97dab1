package streamsort

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// changedWebhooks is the file that changedProps' senders make.
const changedWebhooks = `{"sources":[` +
	`{"name":"github","preset":"github","secret":"arn:aws:ssm:eu-west-1:123456789012:parameter/webhooks/github","challenge":"cloudevents",` +
	`"queue":"repository.full_name | 'other'","key":"updated_at,action","keyType":"time,rank(opened|*|closed)","prev":"before.id","attributes":{"event":"@header(X-GitHub-Event)"}},` +
	`{"name":"bank","secret":"${STREAMSORT_WEBHOOK_SECRET_1}","secretKey":"arn:aws:kms:eu-west-1:123456789012:key/1234-abcd","tolerance":"1m",` +
	`"challenge":"hub","verifyToken":"${STREAMSORT_WEBHOOK_TOKEN_1}",` +
	`"signature":{"header":"X-Sig","prefix":"v0=","encoding":"base64","keyEncoding":"hex","idHeader":"X-Id","timestampHeader":"X-Time","template":"{id}.{timestamp}.{body}"},` +
	`"queue":"@header(X-Account)","prefix":"","seq":"number","id":"event.id","maxBody":1000}]}`

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
// method of its challenge, with throttles of their own, and they lead to no other function. Without
// senders there are no such routes.
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
	throttle := object{"ThrottlingRateLimit": 30, "ThrottlingBurstLimit": 30}
	diff(t, "throttles", object{
		"POST /webhooks/github": throttle, "OPTIONS /webhooks/github": throttle, "POST /webhooks/bank": throttle, "GET /webhooks/bank": throttle,
	},
		changed().properties(t, "ApiStage", "AWS::ApiGatewayV2::Stage")["RouteSettings"])
	diff(t, "the stage waits for the routes", []any{"GetWebhooksbankRoute", "OptionsWebhooksgithubRoute", "PostWebhooksbankRoute", "PostWebhooksgithubRoute"}, changed().Resources["ApiStage"]["DependsOn"])
	diff(t, "function", ref("WebhookAlias"), changed().properties(t, "ApiWebhookIntegration", "AWS::ApiGatewayV2::Integration")["IntegrationUri"])
	for _, method := range []string{"Post", "Get", "Options"} {
		permission := changed().properties(t, method+"WebhooksPermission", "AWS::Lambda::Permission")
		diff(t, "permission", ref("WebhookAlias"), permission["FunctionName"])
		want := "arn:AWS::Partition:execute-api:AWS::Region:AWS::AccountId:Api/*/" + strings.ToUpper(method) + "/webhooks/*"
		if arn := name(permission["SourceArn"]); arn != want {
			t.Errorf("the function may be called by %s, want %s", arn, want)
		}
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

// What is answered 429 is counted: of each API, and of the senders' routes; of the
// tenants' only what API Gateway answers so, which is no tenant's own quota. The
// filters read what the access logs write.
func TestThrottledIsCounted(t *testing.T) {
	for id, want := range map[string]struct{ logs, metric, pattern string }{
		"ApiThrottled":       {"ApiLogs", "Throttled", `{ $.status = "429" }`},
		"TenantApiThrottled": {"TenantApiLogs", "Throttled", `{ $.status = "429" && $.integrationLatency = "-" }`},
		"WebhooksThrottled":  {"ApiLogs", "WebhooksThrottled", `{ $.status = "429" && $.routeKey = "POST /webhooks/*" }`},
	} {
		diff(t, id, object{
			"LogGroupName": ref(want.logs), "FilterPattern": want.pattern,
			"MetricTransformations": []any{object{
				"MetricNamespace": "Streamsort/Access", "MetricName": want.metric, "MetricValue": "1",
				"Dimensions": []any{object{"Key": "ApiId", "Value": "$.apiId"}},
			}},
		}, changed().properties(t, id, "AWS::Logs::MetricFilter"))
	}
	for _, stage := range []string{"ApiStage", "TenantApiStage"} {
		format := changed().properties(t, stage, "AWS::ApiGatewayV2::Stage")["AccessLogSettings"].(object)["Format"].(string)
		var line map[string]string
		if err := json.Unmarshal([]byte(format), &line); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"apiId", "status", "routeKey", "sourceIp", "integrationLatency"} {
			if name == "integrationLatency" && stage == "ApiStage" {
				continue // the tenants' filter alone reads it
			}
			if !strings.HasPrefix(line[name], "$context.") {
				t.Errorf("%s: a line of the access log has no %s: %s", stage, name, format)
			}
		}
	}
}
