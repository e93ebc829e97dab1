package streamsort

import (
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"
	"github.com/aws/jsii-runtime-go"
)

// TestHTTPSink: process has an endpoint as it is written, what is known after the deployment only
// as a variable, and may read the secret, and nothing else for it.
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
		t.Error("process does not get what it may call")
	}
	props := Props{HTTPAllow: "169.254.169.254/32"}
	if err := props.withDefaults("Orders").validate("Orders"); err == nil || !strings.Contains(err.Error(), "httpAllow has 169.254.169.254/32") {
		t.Errorf("a metadata service is allowed: %v", err)
	}
}

// TestHTTPDeny: what is never asked is in the environment of process and of delivery, and no URL
// may be there.
func TestHTTPDeny(t *testing.T) {
	hooks := []Consumer{{Name: "hooks", Sink: &Sink{Kind: "http", HTTP: HTTP{Endpoints: true}}}}
	made := synthesize("Orders", &Props{HTTPDeny: "2600:1f18:1::/48", Consumers: hooks})
	for _, function := range []string{"ProcessFunction", "DeliveryFunction"} {
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

const bookARN = "arn:aws:lambda:eu-west-1:123456789012:function:books"

// TestProcessSlow: where queues have endpoints of their own there is process once more, which
// process alone may call, by its alias; such calls do not pile up. It may do less than process, and
// knows its tenants' share.
func TestProcessSlow(t *testing.T) {
	for text, sink := range map[string]HTTP{"": {URL: "https://example.com/"}, `"endpoints":true`: {Endpoints: true}} {
		made := synthesize("Orders", &Props{
			SlowShare: 7, Functions: map[string]FunctionProps{"slow": {Concurrency: 19}},
			Consumers: []Consumer{
				{Name: "hooks", Sink: &Sink{Kind: "http", HTTP: sink}},
				{Name: "books", Track: "1m", Sink: &Sink{Kind: "lambda", ARN: jsii.String(bookARN)}},
			},
		})
		callers := 0
		for id, resource := range made.Resources {
			if resource["Type"] == "AWS::IAM::Policy" && strings.Contains(asText(t, resource), "ProcessSlowAlias") {
				callers++
				for _, want := range []string{
					`"Action":"lambda:InvokeFunction","Effect":"Allow","Resource":{"Ref":"ProcessSlowAlias"}`,
					`"Roles":[{"Ref":"ProcessRole`,
				} {
					if policy := asText(t, resource["Properties"]); !strings.Contains(policy, want) {
						t.Errorf("no %s in %s: %s", want, id, policy)
					}
				}
			}
		}
		if want := map[bool]int{true: 1, false: 0}[sink.Endpoints]; callers != want {
			t.Errorf("%s: %d roles may call it, want %d", text, callers, want)
		}
		variables := func(id string) string { return asText(t, made.Resources[id]["Properties"]) }
		for id, want := range map[string]string{
			"DeliveryFunction": `"STREAMSORT_ENDPOINT_CONSUMERS":"hooks"`,
			"ProcessFunction":  `"STREAMSORT_SLOW_FUNCTION":{"Ref":"ProcessSlowAlias"}`,
		} {
			if known := strings.Contains(variables(id), want); known != sink.Endpoints {
				t.Errorf("%s: %s has %s: %v", text, id, want, known)
			}
		}
		for _, id := range []string{
			"ProcessSlowFunction", "ProcessSlowCalls", "ProcessSlowErrorsAlarm",
			"ProcessSlowThrottlesAlarm", "ProcessSlowRollbackAlarm",
		} {
			if _, there := made.Resources[id]; there != sink.Endpoints {
				t.Errorf("%s: %s is there: %v", text, id, there)
			}
		}
		if !sink.Endpoints {
			continue
		}
		for id, wants := range map[string][]string{
			"ProcessSlowCalls": {
				`"FunctionName":{"Ref":"ProcessSlowFunction"}`, `"Qualifier":"live"`,
				`"MaximumEventAgeInSeconds":180`, `"MaximumRetryAttempts":1`,
			},
			"ProcessSlowFunction": {
				`"ReservedConcurrentExecutions":19`, `"STREAMSORT_SLOW_SHARE":"7"`, `"Timeout":60`,
				asText(t, made.Resources["ProcessFunction"]["Properties"].(object)["Code"]),
			},
			"ProcessSlowThrottlesAlarm": {"docs/reference/runbook.md#throttlesalarm"},
		} {
			for _, want := range wants {
				if got := variables(id); !strings.Contains(got, want) {
					t.Errorf("no %s in %s", want, got)
				}
			}
		}
		slow, process := allowed(t, made, "ProcessSlow"), allowed(t, made, "Process")
		for _, other := range []string{bookARN, "FailureQueue.Arn", "CursorsTable.StreamArn", "ChainsTable.Arn"} {
			if slow[other] != nil {
				t.Errorf("it may do %s with %s", slow[other], other)
			}
		}
		for resource, actions := range slow {
			if process[resource] != actions && resource != "ProcessSlowLogs.Arn" {
				t.Errorf("it may do %s with %s, and process %s", actions, resource, process[resource])
			}
		}
	}
}

// TestAddSinkWithEndpoints: process that is there already gets its second one by the call that
// brings the first endpoints.
func TestAddSinkWithEndpoints(t *testing.T) {
	_, s, _, read := own(t)
	add := func(c Consumer) {
		t.Helper()
		if err := s.AddSink(c); err != nil {
			t.Fatal(err)
		}
	}
	add(Consumer{Name: "books", Sink: &Sink{Kind: "lambda", ARN: jsii.String(bookARN)}})
	if s.SlowFunction != nil {
		t.Error("it is there without endpoints")
	}
	add(Consumer{Name: "hooks", Sink: &Sink{Kind: "http", HTTP: HTTP{Endpoints: true}}})
	slow := s.SlowFunction
	add(Consumer{Name: "more", Sink: &Sink{Kind: "http", HTTP: HTTP{Endpoints: true}}})
	if slow == nil || s.SlowFunction != slow {
		t.Error("it was not made once")
	}
	made := read()
	for _, id := range []string{
		"ProcessSlowErrorsAlarm", "ProcessSlowThrottlesAlarm", "ProcessSlowRollbackAlarm",
		"ProcessErrorsAlarm",
	} {
		made.find(t, "AWS::CloudWatch::Alarm", "Orders"+id)
	}
	knows := map[string]string{
		"OrdersProcessFunction": `\"name\":\"more\"`, "OrdersProcessSlowFunction": `\"name\":\"more\"`,
		"OrdersDeliveryFunction": `"hooks,more"`,
	}
	for id, resource := range made.Resources {
		for prefix, want := range knows {
			if resource["Type"] == "AWS::Lambda::Function" && strings.HasPrefix(id, prefix) {
				if got := asText(t, resource); !strings.Contains(got, want) {
					t.Errorf("%s does not know of the last consumer: %s", id, got)
				}
				delete(knows, prefix)
			}
		}
	}
	if len(knows) > 0 {
		t.Errorf("not there: %v", knows)
	}
}
