package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/smithy-go/encoding/cbor"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// metricData answers as CloudWatch does about functions: the invocations of each, and the errors.
func metricData(w http.ResponseWriter, functions ...[2]float64) {
	var results cbor.List
	for i, counts := range functions {
		for j, n := range counts {
			results = append(results, cbor.Map{"Id": cbor.String(fmt.Sprintf("m%d_%d", i, j)),
				"Values": cbor.List{cbor.Float64(n)}})
		}
	}
	w.Header().Set("Content-Type", "application/cbor")
	w.Header().Set("Smithy-Protocol", "rpc-v2-cbor")
	_, _ = w.Write(cbor.Encode(cbor.Map{"MetricDataResults": results}))
}

// TestDoctorOfSecrets: the function that takes webhooks is asked for its senders' secrets; where it
// does not start, its log says why. The errors of the stack's functions are counted.
func TestDoctorOfSecrets(t *testing.T) {
	const resources = `<ListStackResourcesResponse><ListStackResourcesResult>` +
		`<StackResourceSummaries>` +
		`<member><ResourceType>AWS::Lambda::Function</ResourceType><LogicalResourceId>OrdersWebhookFunction</LogicalResourceId><PhysicalResourceId>orders-webhook</PhysicalResourceId></member>` +
		`<member><ResourceType>AWS::Lambda::Function</ResourceType><LogicalResourceId>OrdersSortFunction</LogicalResourceId><PhysicalResourceId>orders-sort</PhysicalResourceId></member>` +
		`</StackResourceSummaries></ListStackResourcesResult></ListStackResourcesResponse>`
	const log = `{"level":"WARN","message":"the secrets cannot be had"}` + "\n" + `{"level":"ERROR","message":"cannot start","error":"source svix: secret arn:x: secret 1 of 1 is not whsec_"}` + "\nEND\n"
	for name, c := range map[string]struct {
		status              int
		failed, log, answer string
		how                 diagnosis
		lines               []string
	}{
		"well": {200, "", "", `{"status":200,"sources":[{"source":"a"},{"source":"b"}]}`, warning,
			[]string{
				"secrets of webhooks\tok\tthose of 2 senders can be used",
				"function orders-webhook\twarning\t3 of 100 invocations failed in the last hour; `aws logs tail /aws/lambda/orders-webhook` has why\n",
			}},
		"one is not": {200, "", "", `{"status":200,"sources":[{"source":"a","problem":"secret arn:x: status 400"},{"source":"b"}]}`, critical, []string{"secret of a\tcritical\tsecret arn:x: status 400: its deliveries are not taken"}},
		"no start":   {200, "Unhandled", log, `{"errorType":"Runtime.ExitError"}`, critical, []string{"secrets of webhooks\tcritical\torders-webhook does not start: source svix: secret arn:x: secret 1 of 1 is not whsec_\n"}},
		"no right":   {403, "", "", `{"message":"not for you"}`, unknown, []string{"secrets of webhooks\tunknown\torders-webhook: "}},
		"no JSON":    {200, "", "", `x`, unknown, []string{"secrets of webhooks\tunknown\torders-webhook: "}},
	} {
		t.Run(name, func(t *testing.T) {
			aws := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/operation/GetMetricData") {
					metricData(w, [2]float64{100, 3}, [2]float64{100, 0})
					return
				}
				if !strings.Contains(r.URL.Path, "/invocations") {
					_, _ = io.WriteString(w, resources)
					return
				}
				body, _ := io.ReadAll(r.Body)
				check.That(t,
					r.URL.RequestURI() == "/2015-03-31/functions/orders-webhook/invocations?Qualifier=live" &&
						string(body) == `{"operation":"secrets"}`,
					"%s %s is called", r.URL.RequestURI(), body)
				if w.Header().Set("X-Amz-Log-Result",
					base64.StdEncoding.EncodeToString([]byte(c.log))); c.failed != "" {
					w.Header().Set("X-Amz-Function-Error", c.failed)
				}
				w.WriteHeader(c.status)
				_, _ = fmt.Fprint(w, c.answer)
			})
			for name, value := range map[string]string{"AWS_ENDPOINT_URL": aws, "AWS_REGION": "eu-west-1",
				"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s"} {
				t.Setenv(name, value)
			}
			var out bytes.Buffer
			s := &session{ctx: t.Context(), out: &out, errOut: io.Discard,
				place: place{Stack: "Orders", Region: "eu-west-1"}}
			d := &doctor{session: s, list: s.listing("check", "state", "found")}
			d.deployment()
			for _, line := range c.lines {
				check.That(t, strings.Contains(out.String(), line), "%q is not said, but\n%s", line, &out)
			}
			check.That(t, d.worst == c.how, "the worst is %v, want %v:\n%s", d.worst, c.how, &out)
		})
	}
}
