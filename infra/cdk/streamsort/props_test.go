package streamsort

import (
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// tenants are good properties with tenants, and a change of them.
func tenants(change func(*Props)) Props {
	p := Props{TenantIssuer: "https://a.example", TenantAudience: "shop",
		TenantClaim: "https://a.example/tenant"}
	change(&p)
	return p
}

func of(name string, takes FunctionProps) Props {
	return Props{Functions: map[string]FunctionProps{name: takes}}
}

func TestPropsBounds(t *testing.T) {
	tests := []struct {
		props Props
		want  string // that the error names, with a comma between; empty: the props are good
	}{
		{Props{}, ""},
		{*changedProps(), ""},

		{Props{Tables: "a b"}, `tables, "a b", 1, 240`},
		{Props{Tables: strings.Repeat("s", 241)}, "tables, 240"},
		{Props{Tables: strings.Repeat("s", 240)}, ""},
		{of("sorter", FunctionProps{Memory: 512}), `functions, "sorter", sort, webhook`},
		{of("enqueue", FunctionProps{BatchSize: 5}), "enqueueBatchSize, 5, none"},
		{of("sweep", FunctionProps{Timeout: time.Minute}), "sweepTimeout, 1m, none"},
		{of("slow", FunctionProps{Memory: 512}), "slowMemory, 512, none"},
		{of("delivery", FunctionProps{BatchWindow: new(time.Second)}), "deliveryBatchWindow, 1s, none"},
		{Props{Removal: "keep"}, `removal, "keep", retain`},

		{Props{FirstSeq: new(int64(-1))}, "firstSeq, -1, 0, 9223372036854775807"},
		{Props{FirstSeq: new(int64(math.MaxInt64))}, ""},
		{Props{Policy: "drop"}, `policy, "drop", wait`},
		{Props{GapAfter: time.Millisecond}, "gapAfter, 1ms, 1s, 8760h"},
		{Props{MaxAhead: -1}, "maxAhead, -1, 1, 10000000"},
		{Props{MaxAhead: 10_000_001}, "maxAhead, 10000001"},
		{Props{Mode: "both"}, `mode, "both", sync`},
		{Props{Mode: cursor.ModeAsync}, ""},
		{Props{Retention: new(time.Hour)}, "retention, 1h, 4h, 87600h"},
		{Props{Retention: new(4 * time.Hour)}, ""},
		{Props{Retention: new(-time.Second)}, "retention, -1s"},
		{Props{Events: `{"queue":"id"}`}, `events, {"queue":"id"}, seq is missing`},
		{Props{Events: `{"id":"id"}`}, "events, queue is missing"},
		{Props{Events: `{"queue":"a","id":"b","colour":"c"}`}, "events, colour is not known, keyType"},
		{Props{Events: "a"}, "events, a, JSON"},
		{Props{Events: `{"queue":"a","id":"b"}`}, ""},
		{Props{Events: `{"queue":"a","id":"b..c"}`}, "events, id has an empty name"},
		{Props{Events: `{"queue":"a | 'b'","id":"@header(X-Id)","key":"c | @received","keyType":"time","each":"all[]"}`}, ""},
		{Props{Events: `{"queue":"a","id":"b","key":"c","keyType":"date"}`}, `events, keyType, "date", number`},
		{Props{Settle: new(time.Hour), Late: cursor.LateDrop}, ""},
		{Props{Settle: new(61 * time.Minute)}, "settle, 1h1m, 0s, 1h"},
		{Props{Settle: new(time.Microsecond)}, "settle, 1µs, multiple of 1ms"},
		{Props{Late: "never"}, `late, "never", deliver`},

		{of("sort", FunctionProps{BatchSize: 10_001}), "sortBatchSize, 10001, 1, 10000"},
		{of("sort", FunctionProps{BatchSize: 10_000, BatchWindow: new(300 * time.Second)}), ""},
		{of("sort", FunctionProps{BatchWindow: new(301 * time.Second)}), "sortBatchWindow, 5m1s, 0s, 5m"},
		{of("sort", FunctionProps{BatchWindow: new(1500 * time.Millisecond)}), "sortBatchWindow, 1.5s, multiple of 1s"},
		{of("sort", FunctionProps{Parallelization: 11}), "sortParallelization, 11, 1, 10"},

		{Props{Consumers: []Consumer{{Name: "a b"}}}, "consumers[0]"},
		{Props{Consumers: []Consumer{{Name: "a", Sink: &Sink{Kind: "sqs"}}}}, "consumers[0].sink, arn"},
		{Props{Consumers: []Consumer{{Name: "a", Start: "now", Sink: changedProps().Consumers[0].Sink}}}, "consumers[0].start, first, latest"},
		{Props{Consumers: []Consumer{{Name: "a", Sink: changedProps().Consumers[1].Sink}}}, ""},
		{Props{Consumers: []Consumer{}, ConsumersFile: "x"}, "consumersFile, consumers"},
		{Props{ConsumersFile: "nowhere.json"}, "consumersFile, nowhere.json"},
		{Props{ConsumersFile: "testdata/unknown.json"}, "consumersFile, testdata/unknown.json, consumers[0].size"},
		{Props{ConsumersFile: "testdata/consumers.json"}, ""},
		{Props{Tombstone: time.Minute}, "tombstone, 1m, 1h, 8760h"},
		{Props{AnnounceFunction: new("people")}, `announceFunction, "people"`},
		{Props{Webhooks: changedProps().Webhooks}, ""},
		{Props{Webhooks: []Webhook{{Name: "a b", Preset: "github", Secret: changedProps().Webhooks[0].Secret}}}, "webhooks, sources[0].name, 64"},
		{Props{Webhooks: []Webhook{{Name: "a", Preset: "github"}}}, "webhooks, sources[0].secret, ARN"},
		{Props{Webhooks: []Webhook{{Name: "a", Secret: changedProps().Webhooks[0].Secret}}}, "webhooks, sources[0].preset is missing"},
		{Props{Webhooks: []Webhook{{Name: "a", Preset: "github", Secret: changedProps().Webhooks[0].Secret}}}, ""},
		{Props{Webhooks: []Webhook{}, WebhooksFile: "x"}, "webhooksFile, webhooks"},
		{Props{WebhooksFile: "nowhere.json"}, "webhooksFile, nowhere.json"},
		{Props{WebhooksFile: "testdata/consumers.json"}, "webhooksFile, testdata/consumers.json, sources"},
		{Props{WebhooksFile: "testdata/webhooks.json"}, ""},
		{Props{WebhookRate: 10_001}, "webhookRate, 10001, 1, 10000"},
		{of("slow", FunctionProps{Concurrency: -1}), "slowConcurrency, -1"},
		{Props{SlowShare: 101}, "slowShare, 101, 1, 100"},
		{Props{SettleWithin: time.Second}, "settleWithin, 1s, 1m, 8760h"},
		{Props{LagAfter: time.Second}, "lagAfter, 1s, 1m, 8760h"},
		{Props{AnnounceTopic: new("people")}, `announceTopic, "people"`},
		{Props{AnnounceTopic: new("arn:aws:sns:eu-west-1:123456789012:people.fifo")}, "announceTopic, people.fifo"},

		{Props{PageTopic: new("people")}, `pageTopic, "people"`},
		{Props{VPC: VPC{Subnets: "subnet-1"}}, `vpcSecurityGroups, "", sg-, vpcSubnets`},
		{Props{VPC: VPC{Subnets: "subnet-1, subnet-2", SecurityGroups: "sg-1"}}, `vpcSubnets, "subnet-1, subnet-2", subnet-, no blanks`},
		{Props{VPC: VPC{SecurityGroups: "sg-1"}}, `vpcSubnets, ""`},

		{Props{SweepInterval: 30 * time.Second}, "sweepInterval, 30s, 1m, 1h"},
		{Props{SweepInterval: 90 * time.Second}, "sweepInterval, 1m30s, multiple of 1m"},
		{Props{SweepInterval: time.Hour}, ""},
		{Props{SweepInterval: 2 * time.Hour}, "sweepInterval, 2h"},
		{Props{FullSweepEvery: 85 * time.Hour}, "fullSweepEvery, 85h, 4m, 84h"},
		{Props{FullSweepEvery: 2 * time.Hour, Retention: new(4 * time.Hour)}, "fullSweepEvery, 2h, 4m, 1h"},
		{Props{FullSweepEvery: time.Minute}, "fullSweepEvery, 1m"},
		{Props{SweepSegments: 101}, "sweepSegments, 101, 1, 100"},
		{Props{EventBus: new("arn:aws:events:eu-west-1:1:event-bus/x")}, "eventBus, 256"},

		{of("enqueue", FunctionProps{Memory: 64}), "enqueueMemory, 64, 128, 10240"},
		{of("sort", FunctionProps{Memory: 10_241}), "sortMemory, 10241"},
		{of("enqueue", FunctionProps{Timeout: 16 * time.Minute}), "enqueueTimeout, 16m, 1s, 15m"},
		{of("sort", FunctionProps{Timeout: 500 * time.Millisecond}), "sortTimeout, 500ms"},
		{of("sort", FunctionProps{Timeout: 1500 * time.Millisecond}), "sortTimeout, 1.5s, multiple of 1s"},
		{of("enqueue", FunctionProps{Concurrency: -1}), "enqueueConcurrency, -1, 0, 10000"},
		{of("sort", FunctionProps{Concurrency: 10_001}), "sortConcurrency, 10001"},
		{Props{TenantIssuer: "https://a.example"}, `tenantIssuer, tenantAudience, tenantClaim, "https://a.example"`},
		{Props{TenantOperateScope: "s"}, "tenantOperateScope, tenantIssuer, tenantAudience, tenantClaim"},
		{tenants(func(p *Props) {}), ""},
		{tenants(func(p *Props) { p.TenantIssuer = "http://a.example" }), `tenantIssuer, "http://a.example"`},
		{tenants(func(p *Props) { p.TenantIssuer = "https://a.example/x?y" }), "tenantIssuer, https://a.example/x?y"},
		{tenants(func(p *Props) { p.TenantAudience = "a,,b" }), `tenantAudience, "a,,b"`},
		{tenants(func(p *Props) { p.TenantAudience = "a, b" }), "tenantAudience"},
		{tenants(func(p *Props) { p.TenantAudience = strings.Repeat("a,", 50) + "a" }), "tenantAudience"},
		{tenants(func(p *Props) { p.TenantClaim = "my tenant" }), `tenantClaim, "my tenant"`},
		{tenants(func(p *Props) { p.TenantConsumeScope = "a b" }), `tenantConsumeScope, "a b"`},
		{Props{QuotasFile: "testdata/quotas.json"}, "quotasFile, tenantClaim"},
		{Props{MaxReads: 1}, ""},
		{Props{MaxReads: -1, MaxWrites: 10_000_001}, "maxReads, -1, 0, 10000000, maxWrites, 10000001"},
		{tenants(func(p *Props) { p.QuotasFile = "nowhere.json" }), "quotasFile, nowhere.json"},
		{tenants(func(p *Props) { p.QuotasFile = "testdata/consumers.json" }), "quotasFile, testdata/consumers.json, quotas"},
		{tenants(func(p *Props) { p.QuotasFile = "testdata/quotas.json" }), ""},
		{Props{EncryptionKey: "alias/mine"}, `encryptionKey, "alias/mine"`},
		{Props{EncryptionKey: theKey}, ""},
		{Props{Shift: "Canary"}, `shift, "Canary", Canary10Percent5Minutes`},
		{Props{APIRate: 10_001}, "apiRate, 10001, 1, 10000"},
		{Props{FunctionURL: true}, ""},
		{tenants(func(p *Props) { p.FunctionURL = true }), "functionUrl, tenants, HTTP APIs"},
		{Props{LogSuccesses: new(101)}, "logSuccesses, 101, 0, 100"},
		{Props{LogQueue: "q"}, `logQueue, logUntil, "q"`},
		{Props{LogQueue: "q", LogUntil: "noon"}, `logUntil, "noon", 2026-01-02T15:04:05Z`},
		{Props{LogQueue: "q", LogUntil: "2026-01-02T15:04:05+02:00"}, ""},
		{Props{LogRetentionDays: 31}, "logRetentionDays, 31, 1"},
		{Props{Architecture: "riscv64"}, `architecture, "riscv64", arm64`},
	}
	for _, test := range tests {
		_, err := test.props.complete("Streamsort")
		check.That(t, (err == nil) == (test.want == ""),
			"error %v, want one that names %q", err, test.want)
		if err != nil {
			wantNamed(t, err, strings.Split(test.want, ", ")...)
		}
	}
}

// wantNamed fails the test where an error does not name the property, the value or the bound: the
// words around them are for people.
func wantNamed(t *testing.T, err error, names ...string) {
	t.Helper()
	for _, name := range names {
		check.Says(t, err, name)
	}
}

func TestPropsReportsAll(t *testing.T) {
	wantNamed(t, check.Err(NewStack(nil, "0", &Props{MaxAhead: -1, Tombstone: -1})),
		"\nstack ", `"0"`, "\nmaxAhead ", "\ntombstone ")
}

// In async mode sort moves the cursors, and waits for nothing. The caller's properties stay.
func TestDefaults(t *testing.T) {
	given := Props{Mode: cursor.ModeAsync}
	check.Is(t, *given.withDefaults("Streamsort").Functions["sort"].BatchWindow, 0)
	check.Is(t, reflect.DeepEqual(given, Props{Mode: cursor.ModeAsync}), true, given)
}

func TestBinaries(t *testing.T) {
	dir := t.TempDir()
	wantNamed(t, Props{Binaries: dir, Architecture: ARM64}.checkBinaries(),
		"build the functions first (make build, or Build in an app of your own)",
		filepath.Join(dir, "enqueue", "bootstrap"), filepath.Join(dir, "sweep", "bootstrap"))
	amd := Props{Binaries: binaries[AMD64], Architecture: ARM64}
	wantNamed(t, amd.checkBinaries(), "is built for EM_X86_64; the architecture is arm64 (EM_AARCH64)")
	amd.Architecture = AMD64
	check.OK(t, amd.checkBinaries())
}

func TestConsumersFile(t *testing.T) {
	got := check.Get(Props{ConsumersFile: "testdata/consumers.json"}.readConsumers())
	want := []Consumer{
		changedProps().Consumers[0],
		{Name: "late", Start: "7", Sink: &Sink{Kind: "lambda", ARN: new("arn:aws:lambda:eu-west-1:123456789012:function:f")}},
	}
	check.Is(t, cmp.Diff(want, got), "", "(- want, + got)\n")
}

// What a file says is what the properties say.
func TestWebhooksFile(t *testing.T) {
	got := check.Get(Props{WebhooksFile: "testdata/webhooks.json"}.readWebhooks())
	want := changedProps().Webhooks
	want[1].Secret = new("arn:aws:secretsmanager:eu-west-1:123456789012:secret:bank-Ab12Cd")
	want[1].VerifyToken = new("arn:aws:secretsmanager:eu-west-1:123456789012:secret:bank-token-Ef34Gh")
	check.Is(t, cmp.Diff(want, got), "", "(- want, + got)\n")
}

// Names that differ make logical ids that differ.
func TestIDPart(t *testing.T) {
	parts := map[string]string{}
	for _, name := range []string{"ab", "a.b", "a-b", "a_b", "ab.", "...", "---"} {
		part := idPart(name)
		other, taken := parts[part]
		check.That(t, !taken && !notInID.MatchString(part), "%q makes %q, as %q does", name, part, other)
		parts[part] = name
	}
	check.Is(t, idPart("github"), "github")
}

// TestHTTPRefuses: no metadata service may be asked, and no URL may be where none is asked.
func TestHTTPRefuses(t *testing.T) {
	to := func(url string) []Consumer {
		return []Consumer{{Name: "inner", Sink: &Sink{Kind: "http", HTTP: HTTP{URL: url}}}}
	}
	for want, props := range map[string]Props{
		"httpAllow has 169.254.169.254/32": {HTTPAllow: "169.254.169.254/32"},
		"httpDeny has \"2600:1f18:1::5\"":  {HTTPDeny: "2600:1f18:1::5"},
		"not a public one":                 {HTTPDeny: "2600:1f18:1::/48", Consumers: to("https://[2600:1f18:1::5]/")},
		`"inner": sink: url`:               {Consumers: to("https://10.1.2.3/")},
		"port 80":                          {Consumers: to("http://example.com/")},
		"the ports [443] are allowed":      {Consumers: to("https://example.com:8443/")},
	} {
		check.Says(t, props.withDefaults("Orders").validate("Orders"), want)
	}
}
