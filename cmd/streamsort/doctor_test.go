package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go/encoding/cbor"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// TestDoctor: what an API says of its stack, and how bad that is.
func TestDoctor(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", "")
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_PROFILE", "")
	t.Setenv("AWS_REGION", "")
	t.Setenv("HOME", t.TempDir())
	for name, c := range map[string]struct {
		status  int
		answer  string
		ahead   time.Duration
		code    diagnosis
		wording string
	}{
		"well":             {200, `{"states":{"paused":{"count":3,"ageSeconds":5}}}`, 0, well, "paused\tok\t3, the oldest for 5s; "},
		"blocked":          {200, `{"states":{"blocked":{"count":3}}}`, 0, warning, "blocked\twarning\t3, the oldest for 0s; `streamsort consumer --state blocked` lists them\n"},
		"nothing":          {200, `{"states":{}}`, 0, well, "queues\tok\tall queues and consumers are ok\n"},
		"missing":          {200, `{"states":{},"groups":[{"consumer":"c","state":"blocked","states":[{"state":"blocked","count":1}],"cause":"missing","count":1,"examples":[{"queue":"q","seq":7}]}]}`, 0, critical, "errors of c\tcritical\t1 queue blocked, such as q@7\n"},
		"retrying":         {200, `{"states":{"retrying":{"count":1,"ageSeconds":59}}}`, 0, well, "retrying\tok\t1, "},
		"retrying long":    {200, `{"states":{"retrying":{"count":1,"ageSeconds":60}}}`, 0, warning, "retrying\twarning\t1, "},
		"group":            {200, `{"states":{},"groups":[{"consumer":"c","state":"blocked","states":[{"state":"blocked","count":12},{"state":"held","count":9}],"error":"no account #","count":21,"since":"2026-01-01T00:00:00Z","examples":[{"queue":"a","seq":7},{"queue":"b","seq":1,"to":4}]}]}`, 0, warning, "errors of c\twarning\t21 queues: 12 blocked, 9 held: no account #, such as a@7, b@1 to 4\n"},
		"held":             {200, `{"states":{},"groups":[{"consumer":"c","state":"held","states":[{"state":"held","count":2}],"cause":"open","error":"away","count":2,"since":"2026-01-01T00:00:00Z","examples":[{"queue":"q"}]}]}`, 0, warning, "2 queues held, such as q. Calls to c fail since 2026-01-01T00:00:00Z: away; they are held, and one at a time is tried again\n"},
		"refused":          {403, `{"status":403,"title":"no"}`, 0, unknown, "api\tunknown\t"},
		"fails":            {400, `{"status":400,"title":"no"}`, 0, critical, "api\tcritical\t"},
		"clocks apart":     {200, `{"states":{}}`, 20 * time.Second, warning, "clock\twarning\tthis machine's is 20s behind the API's"},
		"clocks far apart": {200, `{"states":{}}`, -time.Hour, critical, "clock\tcritical\tthis machine's is 1h0m ahead"},
	} {
		t.Run(name, func(t *testing.T) {
			api := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Date", time.Now().Add(c.ahead).UTC().Format(http.TimeFormat))
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.answer)
			})
			out, errOut, code := prints(t, "--url", api, "doctor")
			check.That(t, code == int(c.code) && errOut == "" && strings.Contains(out, c.wording),
				"exit %d, %q, and\n%s; want %d, and %q", code, errOut, out, c.code, c.wording)
		})
	}
}

// TestDoctorOfFunctions: what went well before does not hide that nothing does now, and a failure
// or two among what goes well is not the function's. What a consumer's function does not take is as
// grave as the consumer's state. A stack on this machine is asked for its senders' secrets too.
func TestDoctorOfFunctions(t *testing.T) {
	const none, books = `{"states":{}}`, `[{"Name":"books","Stats":{"Requests":3,"Errors":3,"Failing":3}},{"Name":"book","Stats":{"Requests":3,"Errors":3,"Failing":3}}]`
	of := func(stats string) string { return `[{"Name":"f","Stats":` + stats + `}]` }
	retrying := func(age string) string {
		return `{"states":{"retrying":{"count":1,"ageSeconds":` + age + `}},"groups":[{"consumer":"c","state":"retrying","states":[{"state":"retrying","count":1}],
			"count":1,"ageSeconds":` + age + `,"examples":[{"queue":"q","error":"arn:aws:lambda:us-east-1:000000000000:function:books failed: no account"}]}]}`
	}
	for _, c := range []struct {
		summary, functions string
		want               []string
	}{
		{none, of(`{"Requests":9,"Errors":4,"Failing":3}`), []string{"function f\tcritical\t4 of 9 invocations failed, the last 3 in a row; `streamsort logs f` has why\n"}},
		{none, of(`{"Requests":1,"Errors":1,"Failing":1}`), []string{"function f\tcritical\t1 of 1 invocations failed, the last 1 in a row; "}},
		{none, of(`{"Requests":9,"Errors":4,"Failing":2}`), []string{"function f\tok\t4 of 9 invocations failed, the last 2 in a row; "}},
		{none, of(`{"Requests":3,"Errors":2,"Failing":2,"Running":1}`), []string{"function f\tcritical\t2 of 3 invocations failed, the last 2 in a row; "}},
		{none, of(`{"Requests":9}`), []string{"functions\tok\tnone of the 9 invocations of 1 function failed\n"}},
		{retrying("5"), books, []string{"retrying\tok", "errors of c\tok", "function books\tok", "function book\tcritical"}},
		{retrying("60"), books, []string{"retrying\twarning", "errors of c\twarning", "function books\twarning", "function book\tcritical"}},
		{
			none, `[{"LogicalID":"OrdersWebhookFunction","Name":"w","Stats":{"Requests":1}}]`,
			[]string{"secret of a\tcritical\tsecret arn:x: status 400: its deliveries are not taken\n"},
		},
		{
			none, `[{"LogicalID":"WebhookFunction","Name":"x"},{"Name":"f","Stats":{"Requests":2,"Errors":2,"Failing":2}}]`,
			[]string{"secrets of webhooks\tunknown\t", "function f\tcritical\t"},
		},
	} {
		out, errOut, _ := prints(t, "--url", answers(t, map[string]string{
			"/summary": c.summary, "/_streamsort/functions": c.functions,
			"/2015-03-31/functions/w/invocations": `{"status":200,"sources":[{"source":"a","problem":"secret arn:x: status 400"},{"source":"b"}]}`,
		}), "doctor")
		for _, want := range c.want {
			check.That(t, strings.Contains(out, want), "%s: no %q in\n%s%s", c.functions, want, out, errOut)
		}
	}
}

// TestDoctorLooksAgain: what is unwell ends no look at how it goes on, and each is printed.
func TestDoctorLooksAgain(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	looks := 0
	api := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/summary" {
			if looks++; looks == 2 {
				interrupt()
			}
		}
		_, _ = io.WriteString(w, `{"states":{"blocked":{"count":3}}}`)
	})
	out, errOut, _ := printsOf(ctx, "", "--url", api, "doctor", "--every", "100ms")
	check.That(t, looks >= 2 && strings.Contains(out, "blocked\twarning\t3"),
		"%d looks: %s%s", looks, out, errOut)
}

// TestDiagnoses: what does not work goes before what nobody can tell.
func TestDiagnoses(t *testing.T) {
	for _, c := range [][3]diagnosis{{well, warning, warning}, {critical, unknown, critical},
		{unknown, warning, unknown}, {unknown, critical, critical}} {
		check.Is(t, c[0].worse(c[1]), c[2], c[0], c[1])
	}
}

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

// TestWhereTheTablesAre: a server of one's own takes any keys; an endpoint of AWS, such as that of
// a VPC, takes those of the chain.
func TestWhereTheTablesAre(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{
		"AWS_REGION": "", "AWS_DEFAULT_REGION": "", "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_PROFILE": "",
		"AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none, "AWS_EC2_METADATA_DISABLED": "true", "AWS_ENDPOINT_URL": "",
	} {
		t.Setenv(name, value)
	}
	s := &session{ctx: t.Context(), place: place{Region: "eu-west-2"}}
	where := func(endpoint, region, key string) {
		t.Helper()
		t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", endpoint)
		got, err := s.tables()
		check.Need(t, err == nil && aws.ToString(got.Endpoint) == endpoint && got.Region == region,
			"%q: %+v, %v; want region %s", endpoint, got, err, region)
		check.Is(t, check.Get(got.Credentials.Retrieve(t.Context())).AccessKeyID, key, endpoint)
	}
	where("http://127.0.0.1:8000", "us-east-1", "local")
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", "https://vpce-1.dynamodb.eu-west-1.vpce.amazonaws.com")
	got, err := s.tables()
	check.That(t, err != nil, "without keys: %+v", got)
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_REGION", "eu-west-1")
	where("https://vpce-1.dynamodb.eu-west-1.vpce.amazonaws.com", "eu-west-2", "id")
	s.Region = ""
	where("", "eu-west-1", "id")
}
