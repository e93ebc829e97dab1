package streamsort

import (
	"maps"
	"strings"
	"testing"
)

// shared is what every function gets by default.
func shared() object {
	return object{
		"STREAMSORT_MESSAGES_TABLE": ref("MessagesTable"), "STREAMSORT_CURSORS_TABLE": ref("CursorsTable"),
		"STREAMSORT_TIMER_QUEUE":  ref("TimerQueue"),
		"STREAMSORT_SWEEPS_TABLE": ref("SweepsTable"), "STREAMSORT_ARRIVALS_TABLE": ref("ArrivalsTable"),
		"STREAMSORT_FIRST_SEQ": "1",
		"STREAMSORT_POLICY":    "wait", "STREAMSORT_GAP_AFTER": "5m", "STREAMSORT_MAX_AHEAD": "100000",
		"STREAMSORT_MODE": "sync", "STREAMSORT_SETTLE": "5s", "STREAMSORT_LATE": "deliver", "STREAMSORT_RETENTION": "336h",
		"POWERTOOLS_SERVICE_NAME": "streamsort", "POWERTOOLS_METRICS_NAMESPACE": "Streamsort",
		"STREAMSORT_LOG_SUCCESSES": "1",
	}
}

// sharedChanged is what every function gets under changedProps.
func sharedChanged() object {
	environment := shared()
	maps.Copy(environment, object{
		"STREAMSORT_FIRST_SEQ": "0",
		"STREAMSORT_POLICY":    "skip", "STREAMSORT_GAP_AFTER": "1m30s", "STREAMSORT_MAX_AHEAD": "50",
		"STREAMSORT_MODE": "async", "STREAMSORT_SETTLE": "1m", "STREAMSORT_LATE": "drop", "STREAMSORT_RETENTION": "0s",
		"POWERTOOLS_SERVICE_NAME":  "orders",
		"STREAMSORT_LOG_SUCCESSES": "100", "STREAMSORT_LOG_QUEUE": "octo/repo", "STREAMSORT_LOG_UNTIL": "2026-01-02T15:04:05Z",
	})
	return environment
}

func with(environment, more object) object {
	maps.Copy(environment, more)
	return environment
}

func TestFunctions(t *testing.T) {
	tests := []struct {
		name, id        string
		template        template
		arch            string
		memory, timeout int
		reserved        int
		environment     object
	}{
		{"enqueue", "Enqueue", defaults(), "arm64", 512, 29, 0, with(shared(), object{"STREAMSORT_TROUBLE_TABLE": ref("TroubleTable")})},
		{"sort", "Sort", defaults(), "arm64", 512, 60, 0, shared()},
		{"sweep", "Sweep", defaults(), "arm64", 512, 300, 0, with(shared(), object{
			"STREAMSORT_EVENT_BUS": "default", "STREAMSORT_FULL_SWEEP_EVERY": "24h", "STREAMSORT_SWEEP_SEGMENTS": "4",
			"STREAMSORT_SWEEP_EVERY":  "4m",
			"STREAMSORT_CHAINS_TABLE": ref("ChainsTable"), "STREAMSORT_TOMBSTONE": "168h",
			"STREAMSORT_SETTLE_WITHIN": "1h",
			"STREAMSORT_LAG_AFTER":     "15m", "STREAMSORT_DELETE_DELIVERED": "false",
			"STREAMSORT_CONSUMERS_TABLE": ref("ConsumersTable"), "STREAMSORT_AUDIT_TABLE": ref("AuditTable"), "STREAMSORT_TROUBLE_TABLE": ref("TroubleTable"),
		})},
		{"ack", "Ack", defaults(), "arm64", 512, 29, 0, with(shared(), object{
			"STREAMSORT_CHAINS_TABLE": ref("ChainsTable"), "STREAMSORT_TOMBSTONE": "168h", "STREAMSORT_EVENT_BUS": "default",
			"STREAMSORT_CONSUMERS_TABLE": ref("ConsumersTable"), "STREAMSORT_AUDIT_TABLE": ref("AuditTable"), "STREAMSORT_TROUBLE_TABLE": ref("TroubleTable"),
		})},
		{"ack", "Ack", changed(), "x86_64", 384, 6, 16, with(sharedChanged(), object{
			"STREAMSORT_QUOTAS_TABLE": ref("QuotasTable"),
			"STREAMSORT_CHAINS_TABLE": ref("ChainsTable"), "STREAMSORT_TOMBSTONE": "2h",
			"STREAMSORT_ANNOUNCE_FUNCTION": "arn:aws:lambda:eu-west-1:123456789012:function:people",
			"STREAMSORT_ANNOUNCE_TOPIC":    "arn:aws:sns:eu-west-1:123456789012:people", "STREAMSORT_TENANT_CLAIM": "custom:tenant",
			"STREAMSORT_CONSUMERS_TABLE": ref("ConsumersTable"), "STREAMSORT_AUDIT_TABLE": ref("AuditTable"), "STREAMSORT_TROUBLE_TABLE": ref("TroubleTable"),
		})},
		{"delivery", "Delivery", defaults(), "arm64", 512, 29, 0, with(shared(), object{
			"STREAMSORT_CONSUMERS_TABLE": ref("ConsumersTable"), "STREAMSORT_AUDIT_TABLE": ref("AuditTable"), "STREAMSORT_TROUBLE_TABLE": ref("TroubleTable"),
		})},
		{"enqueue", "Enqueue", changed(), "x86_64", 128, 10, 11, with(sharedChanged(), object{
			"STREAMSORT_QUOTAS_TABLE": ref("QuotasTable"), "STREAMSORT_TROUBLE_TABLE": ref("TroubleTable"),
			"STREAMSORT_EVENTS":       `{"queue":"repository.full_name","seq":"sequence","id":"delivery.id"}`,
			"STREAMSORT_TENANT_CLAIM": "custom:tenant",
		})},
		{"sort", "Sort", changed(), "x86_64", 256, 20, 12, sharedChanged()},
		{"sweep", "Sweep", changed(), "x86_64", 1024, 300, 1, with(sharedChanged(), object{
			"STREAMSORT_FULL_SWEEP_EVERY": "6h", "STREAMSORT_SWEEP_SEGMENTS": "2", "STREAMSORT_SWEEP_EVERY": "1m",
			"STREAMSORT_ANNOUNCE_TOPIC": "arn:aws:sns:eu-west-1:123456789012:people",
			"STREAMSORT_CHAINS_TABLE":   ref("ChainsTable"), "STREAMSORT_TOMBSTONE": "2h",
			"STREAMSORT_ANNOUNCE_FUNCTION": "arn:aws:lambda:eu-west-1:123456789012:function:people",
			"STREAMSORT_READERS": object{"Fn::Join": []any{"", []any{
				`[{"name":"billing"},{"name":"search","prefix":"shop/","maxAttempts":3,"wakeRate":200},{"name":"books"},{"name":"archive","sink":{"kind":"s3","arn":"`,
				object{"Fn::GetAtt": []any{"ArchiveBucket", "Arn"}},
				`"}}]`,
			}}},
			"STREAMSORT_SETTLE_WITHIN": "3h",
			"STREAMSORT_TENANT_CLAIM":  "custom:tenant",
			"STREAMSORT_LAG_AFTER":     "1h", "STREAMSORT_DELETE_DELIVERED": "true",
			"STREAMSORT_CONSUMERS_TABLE": ref("ConsumersTable"), "STREAMSORT_AUDIT_TABLE": ref("AuditTable"), "STREAMSORT_TROUBLE_TABLE": ref("TroubleTable"),
		})},
		{"delivery", "Delivery", changed(), "x86_64", 320, 5, 15, with(sharedChanged(), object{
			"STREAMSORT_QUOTAS_TABLE":    ref("QuotasTable"),
			"STREAMSORT_CONSUMERS_TABLE": ref("ConsumersTable"), "STREAMSORT_AUDIT_TABLE": ref("AuditTable"), "STREAMSORT_TROUBLE_TABLE": ref("TroubleTable"), "STREAMSORT_TENANT_CLAIM": "custom:tenant",
			"STREAMSORT_KNOWN_QUEUES": "true",
		})},
		{"process", "Process", changed(), "x86_64", 192, 40, 14, with(sharedChanged(), object{
			"STREAMSORT_CONSUMERS_TABLE": ref("ConsumersTable"), "STREAMSORT_AUDIT_TABLE": ref("AuditTable"), "STREAMSORT_TROUBLE_TABLE": ref("TroubleTable"),
			"STREAMSORT_SINK_1": object{"Fn::ImportValue": "SearchArn"}, "STREAMSORT_SINK_3": object{"Fn::GetAtt": []any{"ArchiveBucket", "Arn"}}, "STREAMSORT_KNOWN_QUEUES": "true",
			"STREAMSORT_CHAINS_TABLE": ref("ChainsTable"), "STREAMSORT_TOMBSTONE": "2h",
		})},
		{"webhook", "Webhook", changed(), "x86_64", 448, 7, 18, with(sharedChanged(), object{
			"STREAMSORT_QUOTAS_TABLE":     ref("QuotasTable"),
			"STREAMSORT_WEBHOOK_SECRET_1": object{"Fn::ImportValue": "BankSecretArn"},
			"STREAMSORT_WEBHOOK_TOKEN_1":  object{"Fn::ImportValue": "BankTokenArn"},
		})},
	}
	for _, test := range tests {
		got := maps.Clone(test.template.properties(t, test.id+"Function", "AWS::Lambda::Function"))
		for _, free := range []string{"Code", "Description"} {
			if got[free] == nil {
				t.Errorf("%s has no %s", test.id, free)
			}
			delete(got, free)
		}
		system := "WARN"
		if test.environment["STREAMSORT_LOG_SUCCESSES"] == "100" {
			system = "INFO"
		}
		want := object{
			"Runtime": "provided.al2023", "Architectures": []any{test.arch}, "Handler": "bootstrap",
			"MemorySize": test.memory, "Timeout": test.timeout,
			"Role": get(test.id+"Role", "Arn"),
			"LoggingConfig": object{
				"LogFormat": "JSON", "ApplicationLogLevel": "INFO", "SystemLogLevel": system, "LogGroup": ref(test.id + "Logs"),
			},
			"Environment": object{"Variables": test.environment},
		}
		if test.reserved > 0 {
			want["ReservedConcurrentExecutions"] = test.reserved
			want["VpcConfig"] = object{"SubnetIds": []any{"subnet-1", object{"Fn::ImportValue": "Subnet"}}, "SecurityGroupIds": []any{"sg-1"}}
		}
		diff(t, test.id+"Function", want, got)
		metadata := object{"streamsort:source": "github.com/streamsort/streamsort/functions/" + test.name}
		switch test.name {
		case "enqueue", "delivery", "ack":
			if test.arch == "x86_64" { // changedProps
				metadata["streamsort:files"] = object{"quotas.json": changedQuotas}
			}
		case "process":
			metadata["streamsort:files"] = object{"consumers.json": changedConsumers}
		case "webhook":
			metadata["streamsort:files"] = object{"webhooks.json": changedWebhooks, "quotas.json": changedQuotas}
		}
		diff(t, test.id+" metadata", metadata, test.template.Resources[test.id+"Function"]["Metadata"])
	}
}

// Calls are traced where that is asked for. By default nothing is recorded, and no role may record.
func TestTracing(t *testing.T) {
	for id, resource := range withURL().Resources {
		if mode := resource["Properties"].(object)["TracingConfig"]; resource["Type"] == "AWS::Lambda::Function" && asText(t, mode) != `{"Mode":"Active"}` {
			t.Errorf("%s has the mode %v", id, mode)
		}
	}
	if text := asText(t, defaults().Resources); strings.Contains(text, "TracingConfig") || strings.Contains(text, "xray:") {
		t.Error("X-Ray is in the template")
	}
}

func TestLogs(t *testing.T) {
	for _, id := range []string{"EnqueueLogs", "SortLogs", "SweepLogs", "DeliveryLogs", "AckLogs", "ApiLogs"} {
		diff(t, id, object{"RetentionInDays": 30}, defaults().properties(t, id, "AWS::Logs::LogGroup"))
		checkRemoval(t, defaults(), id, true)
		diff(t, id, object{"RetentionInDays": 365, "KmsKeyId": theKey}, changed().properties(t, id, "AWS::Logs::LogGroup"))
		checkRemoval(t, changed(), id, false)
	}
}

// cdk-nag's rule of runtimes skips provided.*, of which one is deprecated.
func TestRuntimes(t *testing.T) {
	for _, tmpl := range []template{defaults(), changed()} {
		for id, resource := range tmpl.Resources {
			if runtime := resource["Properties"].(object)["Runtime"]; resource["Type"] == "AWS::Lambda::Function" && runtime != "provided.al2023" {
				t.Errorf("%s runs on %v", id, runtime)
			}
		}
	}
}
