package streamsort

import (
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"
	"github.com/aws/jsii-runtime-go"
)

// TestHTTPSink: process has an endpoint as it is written, what is known after the deployment only as a variable, and
// may read the secret, and nothing else for it.
func TestHTTPSink(t *testing.T) {
	stack, s, _, read := own(t)
	key := awskms.NewKey(stack, jsii.String("Key"), nil)
	secret := awssecretsmanager.NewSecret(stack, jsii.String("Hooks"), nil)
	if err := s.AddSink(
		Consumer{Name: "hooks", Sink: &Sink{Kind: "http", HTTP: HTTP{
			URL: "https://example.com/hooks", Mode: "batch", Timeout: "5s", Ports: []int{443}, Headers: map[string]string{"X-Env": "prod"},
			Sign: &Sign{Scheme: "standard", Secret: secret.SecretFullArn(), Key: key.KeyArn()},
		}}},
		Consumer{Name: "plain", Sink: &Sink{Kind: "http", HTTP: HTTP{URL: "https://example.com/plain"}}},
	); err != nil {
		t.Fatal(err)
	}
	file, variables, policy := read().process(t)
	if want := `{"consumers":[{"name":"hooks","sink":{"kind":"http","url":"https://example.com/hooks","mode":"batch",` +
		`"sign":{"scheme":"standard","secret":"${STREAMSORT_SINK_0}"},"timeout":"5s","ports":[443],"headers":{"X-Env":"prod"}}},` +
		`{"name":"plain","sink":{"kind":"http","url":"https://example.com/plain"}}]}`; file != want {
		t.Errorf("the file is %s", file)
	}
	if want := `"STREAMSORT_SINK_0":{"Ref":"Hooks`; !strings.Contains(variables, want) {
		t.Errorf("no %s in %s", want, variables)
	}
	for want, n := range map[string]int{
		`"Action":"secretsmanager:GetSecretValue","Effect":"Allow","Resource":{"Ref":"Hooks`: 1,
		`"Action":"kms:Decrypt","Effect":"Allow","Resource":{"Fn::GetAtt":["Key`:             1,
		"secretsmanager:": 1,
	} {
		if got := strings.Count(policy, want); got != n {
			t.Errorf("%d times %s in %s", got, want, policy)
		}
	}
	for _, c := range []struct {
		sink Sink
		want string
	}{
		{Sink{Kind: "http"}, "url is missing"},
		{Sink{Kind: "http", ARN: new("arn:aws:sqs:us-east-1:0:a.fifo"), HTTP: HTTP{URL: "https://example.com/"}}, "arn is not known"},
		{Sink{Kind: "http", HTTP: HTTP{URL: "https://10.1/"}}, "url has the host"},
		{Sink{Kind: "http", HTTP: HTTP{URL: "https://example.com/", Sign: &Sign{Scheme: "bearer"}}}, "sign.secret"},
		{Sink{Kind: "lambda"}, "arn is missing"},
	} {
		if err := s.AddSink(Consumer{Name: "bad", Sink: &c.sink}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v; want %s", c.sink, err, c.want)
		}
	}
}

// TestHTTPAllow: what is allowed is in process's environment, and a metadata service never is.
func TestHTTPAllow(t *testing.T) {
	consumers := []Consumer{{Name: "inner", Sink: &Sink{Kind: "http", HTTP: HTTP{URL: "http://10.1.2.3/", Ports: []int{80}}}}}
	made := synthesize("Orders", &Props{Consumers: consumers, HTTPAllow: "10.1.0.0/16,127.0.0.0/8"})
	if text := asText(t, made); !strings.Contains(text, `"STREAMSORT_HTTP_ALLOW":"10.1.0.0/16,127.0.0.0/8"`) {
		t.Error("process is not told what it may ask")
	}
	props := Props{HTTPAllow: "169.254.169.254/32"}
	if err := props.withDefaults("Orders").validate("Orders"); err == nil || !strings.Contains(err.Error(), "httpAllow has 169.254.169.254/32") {
		t.Errorf("a metadata service is allowed: %v", err)
	}
}

// TestHTTPDeny: what is never asked is in the environment of process and of handoff, and no URL may be there.
func TestHTTPDeny(t *testing.T) {
	hooks := []Consumer{{Name: "hooks", Sink: &Sink{Kind: "http", HTTP: HTTP{Endpoints: true}}}}
	made := synthesize("Orders", &Props{HTTPDeny: "2600:1f18:1::/48", Consumers: hooks})
	for _, function := range []string{"ProcessFunction", "HandoffFunction"} {
		if text := asText(t, made.Resources[function]["Properties"]); !strings.Contains(text, `"STREAMSORT_HTTP_DENY":"2600:1f18:1::/48"`) {
			t.Errorf("%s does not know it", function)
		}
	}
	inner := []Consumer{{Name: "inner", Sink: &Sink{Kind: "http", HTTP: HTTP{URL: "https://[2600:1f18:1::5]/"}}}}
	for want, props := range map[string]Props{
		"httpDeny has \"2600:1f18:1::5\"": {HTTPDeny: "2600:1f18:1::5"},
		"not a public one":                {HTTPDeny: "2600:1f18:1::/48", Consumers: inner},
	} {
		if err := props.withDefaults("Orders").validate("Orders"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

// TestForbiddenURL: a URL that process would not start with is refused before anything is made.
func TestForbiddenURL(t *testing.T) {
	_, s, _, _ := own(t)
	for url, want := range map[string]string{
		"https://10.1.2.3/":         "an address which is not a public one",
		"http://example.com/":       "port 80",
		"https://example.com:8443/": "the ports [443] are allowed",
	} {
		consumer := Consumer{Name: "hook", Sink: &Sink{Kind: "http", HTTP: HTTP{URL: url}}}
		props := Props{Consumers: []Consumer{consumer}}
		if err := props.withDefaults("Orders").validate("Orders"); err == nil || !strings.Contains(err.Error(), `consumer "hook": sink: url: `) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", url, err, want)
		}
		if err := s.AddSink(consumer); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s added: %v", url, err)
		}
	}
}

// TestProcessCallsItself: where queues have endpoints of their own it may, by its alias, and nowhere else; such calls do not pile up.
func TestProcessCallsItself(t *testing.T) {
	for text, sink := range map[string]HTTP{"": {URL: "https://example.com/"}, `"endpoints":true`: {Endpoints: true}} {
		made := synthesize("Orders", &Props{Consumers: []Consumer{{Name: "hooks", Sink: &Sink{Kind: "http", HTTP: sink}}}})
		policies := 0
		for id, resource := range made.Resources {
			if resource["Type"] != "AWS::IAM::Policy" || !strings.Contains(id, "ProcessCallsItself") {
				continue
			}
			policies++
			for _, want := range []string{`"Action":"lambda:InvokeFunction"`, `"Resource":{"Ref":"ProcessAlias"}`, `"Roles":[{"Ref":"ProcessRole`} {
				if policy := asText(t, resource["Properties"]); !strings.Contains(policy, want) {
					t.Errorf("no %s in %s", want, policy)
				}
			}
		}
		if want := map[bool]int{true: 1, false: 0}[sink.Endpoints]; policies != want {
			t.Errorf("%s: %d policies, want %d", text, policies, want)
		}
		if known := strings.Contains(asText(t, made.Resources["HandoffFunction"]["Properties"]), `"STREAMSORT_ENDPOINT_CONSUMERS":"hooks"`); known != sink.Endpoints {
			t.Errorf("%s: handoff knows of the consumer: %v", text, known)
		}
		calls, bounded := made.Resources["ProcessCalls"]
		if bounded != sink.Endpoints {
			t.Errorf("%s: the calls are bounded: %v", text, bounded)
		}
		if bounded {
			for _, want := range []string{`"FunctionName":{"Ref":"ProcessFunction"}`, `"Qualifier":"live"`, `"MaximumEventAgeInSeconds":180`, `"MaximumRetryAttempts":1`} {
				if got := asText(t, calls["Properties"]); !strings.Contains(got, want) {
					t.Errorf("no %s in %s", want, got)
				}
			}
		}
	}
}
