package streamsort

import (
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/infra/cdk/internal/fakebin"
)

// tenants are good properties with tenants, and a change of them.
func tenants(change func(*Props)) Props {
	p := Props{TenantIssuer: "https://a.example", TenantAudience: "shop", TenantClaim: "https://a.example/tenant"}
	change(&p)
	return p
}

func TestPropsBounds(t *testing.T) {
	tests := []struct {
		props Props
		want  string // of the error; empty: the props are good
	}{
		{Props{}, ""},
		{*changedProps(), ""},

		{Props{MessagesTable: "ab"}, `messagesTable is "ab"; write 3 to 255 letters, digits, '_', '-' or '.'`},
		{Props{CursorsTable: "a b c"}, `cursorsTable is "a b c"; write 3 to 255`},
		{Props{SweepsTable: strings.Repeat("s", 256)}, `; write 3 to 255`},
		{Props{SweepsTable: strings.Repeat("s", 255)}, ""},
		{Props{MessagesTable: "one", CursorsTable: "one"}, `cursorsTable is "one", as messagesTable is; write a name of its own`},
		{Props{QueueKey: "body"}, `queueKey, seqKey are "body" and "seq": queue key must not be body: another attribute has that name; write two names such as queue and seq`},
		{Props{SeqKey: "queue"}, `must differ from the queue key`},
		{Props{Removal: "keep"}, `removal is "keep"; write one of retain, destroy`},

		{Props{FirstSeq: new(int64(-1))}, "firstSeq is -1; write a number from 0 to 9223372036854775807"},
		{Props{FirstSeq: new(int64(math.MaxInt64))}, ""},
		{Props{Policy: "drop"}, `policy is "drop"; write one of wait, skip, alert`},
		{Props{GapAfter: time.Millisecond}, "gapAfter is 1ms; write a value from 1s to 8760h"},
		{Props{MaxAhead: -1}, "maxAhead is -1; write a value from 1 to 10000000"},
		{Props{MaxAhead: 10_000_001}, "maxAhead is 10000001"},
		{Props{Mode: "both"}, `mode is "both"; write one of sync, async`},
		{Props{Retention: new(time.Hour)}, "retention is 1h; write a duration from 4h to 87600h, or 0 to keep messages for ever"},
		{Props{Retention: new(4 * time.Hour)}, ""},
		{Props{Retention: new(-time.Second)}, "retention is -1s"},
		{Props{BatchSize: 1001}, "batchSize is 1001; write a value from 1 to 1000"},
		{Props{QueueProp: "id"}, `queueProp, seqProp, idProp are "id", "" and ""; write the first and one of the others, or none`},
		{Props{IDProp: "id"}, `queueProp, seqProp, idProp are "", "" and "id"`},
		{Props{QueueProp: "a", IDProp: "b"}, ""},
		{Props{QueueProp: "a", IDProp: "b..c"}, `idProp is "b..c"`},
		{Props{QueueProp: "a..b", SeqProp: ".c"}, `queueProp is "a..b"; write field names with one dot between them, such as data.id`},
		{Props{QueueProp: "a", SeqProp: "c."}, `seqProp is "c."`},

		{Props{SortBatchSize: 10_001}, "sortBatchSize is 10001; write a value from 1 to 10000"},
		{Props{SortBatchSize: 10_000, SortBatchWindow: new(300 * time.Second)}, ""},
		{Props{SortBatchWindow: new(301 * time.Second)}, "sortBatchWindow is 5m1s; write a value from 0s to 5m"},
		{Props{SortBatchWindow: new(1500 * time.Millisecond)}, "sortBatchWindow is 1.5s; write a multiple of 1s"},
		{Props{SortParallelization: 11}, "sortParallelization is 11; write a value from 1 to 10"},
		{Props{SortRetries: -1}, "sortRetries is -1; write a value from 1 to 10000"},
		{Props{SortMaxRecordAge: 25 * time.Hour}, "sortMaxRecordAge is 25h; write a value from 1m to 24h"},
		{Props{SortMaxRecordAge: 59 * time.Second}, "sortMaxRecordAge is 59s"},
		{Props{SortMaxRecordAge: 60500 * time.Millisecond}, "sortMaxRecordAge is 1m0.5s; write a multiple of 1s"},

		{Props{AuditTable: "streamsort-audit", ConsumersTable: "streamsort-audit"}, `auditTable is "streamsort-audit", as consumersTable is`},
		{Props{Consumers: []Consumer{{Name: "a b"}}}, "consumers[0]"},
		{Props{Consumers: []Consumer{{Name: "a", Sink: &Sink{Kind: "sqs"}}}}, "consumers[0].sink: arn is missing"},
		{Props{Consumers: []Consumer{{Name: "a", Start: "now", Sink: changedProps().Consumers[0].Sink}}}, "consumers[0].start must be first, latest or a seq"},
		{Props{Consumers: []Consumer{{Name: "a", Sink: changedProps().Consumers[1].Sink}}}, ""},
		{Props{Consumers: []Consumer{}, ConsumersFile: "x"}, "consumersFile is set beside consumers"},
		{Props{ConsumersFile: "nowhere.json"}, "consumersFile open nowhere.json"},
		{Props{ConsumersFile: "testdata/unknown.json"}, "consumersFile is testdata/unknown.json: consumers[0].size is not known"},
		{Props{ConsumersFile: "testdata/consumers.json"}, ""},
		{Props{ProcessBatchSize: -1}, "processBatchSize is -1; write a value from 1 to 10000"},
		{Props{ProcessBatchWindow: 301 * time.Second}, "processBatchWindow is 5m1s"},
		{Props{ProcessBatchWindow: 1500 * time.Millisecond}, "processBatchWindow is 1.5s; write a multiple of 1s"},
		{Props{ProcessParallelization: 11}, "processParallelization is 11"},
		{Props{ProcessRetries: -1}, "processRetries is -1"},
		{Props{ProcessMaxRecordAge: time.Second}, "processMaxRecordAge is 1s; write a value from 1m to 24h"},
		{Props{ProcessMemory: 1}, "processMemory is 1"},
		{Props{HandoffMemory: 1}, "handoffMemory is 1"},
		{Props{ProcessTimeout: time.Hour}, "processTimeout is 1h"},
		{Props{HandoffTimeout: time.Hour}, "handoffTimeout is 1h"},
		{Props{ProcessConcurrency: -1}, "processConcurrency is -1"},
		{Props{HandoffConcurrency: -1}, "handoffConcurrency is -1"},
		{Props{TagKey: "st"}, `tagKey is "st": tag key must not be st: another attribute has that name; write a name such as tag`},
		{Props{Tombstone: time.Minute}, "tombstone is 1m; write a value from 1h to 8760h"},
		{Props{AnnounceFunction: new("people")}, `announceFunction is "people"; write the ARN of a function`},
		{Props{EndsBatchSize: -1}, "endsBatchSize is -1"},
		{Props{EndsBatchWindow: 1500 * time.Millisecond}, "endsBatchWindow is 1.5s; write a multiple of 1s"},
		{Props{AckMemory: 1}, "ackMemory is 1"},
		{Props{AckTimeout: time.Hour}, "ackTimeout is 1h"},
		{Props{AckConcurrency: -1}, "ackConcurrency is -1"},
		{Props{Webhooks: changedProps().Webhooks}, ""},
		{Props{Webhooks: []Webhook{{Name: "a b"}}}, "webhooks sources[0].name must be 1 to 64 letters"},
		{Props{Webhooks: []Webhook{{Name: "a", Scheme: "github", Queue: WebhookQueue{Fixed: "q"}}}}, "webhooks sources[0].secret must be the whole ARN of a secret"},
		{Props{Webhooks: []Webhook{{Name: "a", Scheme: "github", Secret: changedProps().Webhooks[0].Secret}}}, "webhooks sources[0].queue is empty"},
		{Props{Webhooks: []Webhook{}, WebhooksFile: "x"}, "webhooksFile is set beside webhooks"},
		{Props{WebhooksFile: "nowhere.json"}, "webhooksFile open nowhere.json"},
		{Props{WebhooksFile: "testdata/consumers.json"}, "webhooksFile is testdata/consumers.json: consumers is not known: there is sources"},
		{Props{WebhooksFile: "testdata/webhooks.json"}, ""},
		{Props{WebhookRate: 10_001}, "webhookRate is 10001; write a value from 1 to 10000"},
		{Props{WebhookBurst: -1}, "webhookBurst is -1; write a value from 1 to 5000"},
		{Props{WebhookRefusals: -1}, "webhookRefusals is -1; write a value from 1 to 1000000"},
		{Props{WebhookMemory: 1}, "webhookMemory is 1"},
		{Props{WebhookTimeout: time.Hour}, "webhookTimeout is 1h"},
		{Props{WebhookConcurrency: -1}, "webhookConcurrency is -1"},
		{Props{GapAlarmAfter: time.Second}, "gapAlarmAfter is 1s; write a value from 1m to 8760h"},
		{Props{SettleWithin: time.Second}, "settleWithin is 1s; write a value from 1m to 8760h"},
		{Props{LagAfter: time.Second}, "lagAfter is 1s; write a value from 1m to 8760h"},
		{Props{AnnounceTopic: new("people")}, `announceTopic is "people"; write the ARN of a topic that is not FIFO`},
		{Props{AnnounceTopic: new("arn:aws:sns:eu-west-1:123456789012:people.fifo")}, "write the ARN of a topic that is not FIFO"},

		{Props{SweepInterval: 30 * time.Second}, "sweepInterval is 30s; write a value from 1m to 1h"},
		{Props{SweepInterval: 90 * time.Second}, "sweepInterval is 1m30s; write a multiple of 1m"},
		{Props{SweepInterval: time.Hour}, ""},
		{Props{SweepInterval: 2 * time.Hour}, "sweepInterval is 2h"},
		{Props{FullSweepEvery: 85 * time.Hour}, "fullSweepEvery is 85h; write a value from 5m to 84h"},
		{Props{FullSweepEvery: 2 * time.Hour, Retention: new(4 * time.Hour)}, "fullSweepEvery is 2h; write a value from 5m to 1h"},
		{Props{FullSweepEvery: time.Minute}, "fullSweepEvery is 1m"},
		{Props{SweepSegments: 1001}, "sweepSegments is 1001; write a value from 1 to 1000"},
		{Props{SweepLimit: -5}, "sweepLimit is -5; write a value from 1 to 10000000"},
		{Props{EventBus: new("arn:aws:events:eu-west-1:1:event-bus/x")}, "write the bus's name (not its ARN), 1 to 256"},

		{Props{EnqueueMemory: 64}, "enqueueMemory is 64; write a value from 128 to 10240"},
		{Props{SortMemory: 10_241}, "sortMemory is 10241"},
		{Props{SweepMemory: -1}, "sweepMemory is -1"},
		{Props{EnqueueTimeout: 16 * time.Minute}, "enqueueTimeout is 16m; write a value from 1s to 15m"},
		{Props{SortTimeout: 500 * time.Millisecond}, "sortTimeout is 500ms"},
		{Props{SortTimeout: 1500 * time.Millisecond}, "sortTimeout is 1.5s; write a multiple of 1s"},
		{Props{SweepTimeout: 6 * time.Minute}, "sweepTimeout is 6m; write a value from 1s to 5m"},
		{Props{SweepTimeout: 16 * time.Minute, SweepInterval: time.Hour}, "sweepTimeout is 16m; write a value from 1s to 15m"},
		{Props{EnqueueConcurrency: -1}, "enqueueConcurrency is -1; write a value from 0 to 10000"},
		{Props{SortConcurrency: 10_001}, "sortConcurrency is 10001"},
		{Props{SweepConcurrency: -1}, "sweepConcurrency is -1"},
		{Props{TenantIssuer: "https://a.example"}, `tenantIssuer, tenantAudience, tenantClaim are "https://a.example", "" and ""; write all three or none`},
		{Props{TenantOperateScope: "s"}, "are for tenants, and there are none; write tenantIssuer, tenantAudience and tenantClaim too"},
		{Props{TenantRate: 1}, "are for tenants, and there are none"},
		{tenants(func(p *Props) {}), ""},
		{tenants(func(p *Props) { p.TenantIssuer = "http://a.example" }), `tenantIssuer is "http://a.example"; write the iss of the tokens to the letter`},
		{tenants(func(p *Props) { p.TenantIssuer = "https://a.example/x?y" }), "tenantIssuer is"},
		{tenants(func(p *Props) { p.TenantAudience = "a,,b" }), `tenantAudience is "a,,b"; write the aud (or client_id) of the tokens, or up to 50`},
		{tenants(func(p *Props) { p.TenantAudience = "a, b" }), "tenantAudience is"},
		{tenants(func(p *Props) { p.TenantAudience = strings.Repeat("a,", 50) + "a" }), "tenantAudience is"},
		{tenants(func(p *Props) { p.TenantClaim = "my tenant" }), `tenantClaim is "my tenant"; write the name of a claim`},
		{tenants(func(p *Props) { p.TenantConsumeScope = "a b" }), `tenantConsumeScope is "a b"; write one scope of the tokens`},
		{tenants(func(p *Props) { p.TenantRate = 10_001 }), "tenantRate is 10001; write a value from 1 to 10000"},
		{tenants(func(p *Props) { p.TenantBurst = -1 }), "tenantBurst is -1; write a value from 1 to 5000"},
		{Props{EncryptionKey: "alias/mine"}, `encryptionKey is "alias/mine"; write new, or the ARN of a key, such as arn:aws:kms:`},
		{Props{EncryptionKey: theKey}, ""},
		{Props{BudgetDollars: 5}, `budgetDollars, budgetSubscriber are 5 and ""; write both or none`},
		{Props{BudgetSubscriber: "a@b.c"}, `are 0 and "a@b.c"; write both or none`},
		{Props{BudgetDollars: -5, BudgetSubscriber: "a@b.c"}, "budgetDollars is -5; write a value from 1 to 1000000000"},
		{Props{BudgetDollars: 5, BudgetSubscriber: "people"}, `budgetSubscriber is "people"; write an e-mail address, or the ARN of a topic`},
		{Props{Shift: "Canary"}, `shift is "Canary"; write one of Canary10Percent5Minutes, Canary10Percent10Minutes`},
		{Props{APIRate: 10_001}, "apiRate is 10001; write a value from 1 to 10000"},
		{Props{APIBurst: -1}, "apiBurst is -1; write a value from 1 to 5000"},
		{Props{LogRetentionDays: 31}, "logRetentionDays is 31; write one of 1, 3, 5, 7, 14, 30, 60,"},
		{Props{Architecture: "riscv64"}, `architecture is "riscv64"; write one of arm64, amd64`},
	}
	for _, test := range tests {
		_, err := test.props.complete("Streamsort")
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%v", err)
		case test.want != "" && err == nil:
			t.Errorf("no error that says %s", test.want)
		case test.want != "" && !strings.Contains(err.Error(), test.want):
			t.Errorf("error %q\nwant %q", err, test.want)
		}
	}
}

func TestPropsReportsAll(t *testing.T) {
	_, err := NewStack(nil, "0", &Props{BatchSize: -1, SortRetries: -1})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"\nstack is \"0\"; write a letter and then", "\nbatchSize is", "\nsortRetries is"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %q", want, err)
		}
	}
}

func TestPropsNotChanged(t *testing.T) {
	given := Props{}
	given.withDefaults("Streamsort")
	if !reflect.DeepEqual(given, Props{}) {
		t.Errorf("the caller's properties are now %+v", given)
	}
}

func TestBinaries(t *testing.T) {
	dir := t.TempDir()
	check := func(arch Architecture, want ...string) {
		t.Helper()
		err := Props{Binaries: dir, Architecture: arch}.checkBinaries()
		if err == nil {
			t.Fatal("no error")
		}
		for _, want := range want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("no %q in %q", want, err)
			}
		}
	}
	check(ARM64, "build the functions first (make build, or Build in an app of your own)",
		filepath.Join(dir, "enqueue", "bootstrap"), filepath.Join(dir, "sort", "bootstrap"), filepath.Join(dir, "sweep", "bootstrap"))
	if err := fakebin.Write(dir, "amd64"); err != nil {
		t.Fatal(err)
	}
	check(ARM64, "is built for EM_X86_64; the architecture is arm64 (EM_AARCH64)")
	if err := (Props{Binaries: dir, Architecture: AMD64}).checkBinaries(); err != nil {
		t.Error(err)
	}
}
