package streamsort

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/pkg/cursor"
)

func TestSortsWindowInAsyncMode(t *testing.T) {
	p := (&Props{Mode: cursor.ModeAsync}).withDefaults("Streamsort")
	if window := *p.Functions["sort"].BatchWindow; window != 0 {
		t.Errorf("the window is %v where sort moves the cursors, want none", window)
	}
}

func TestSortMapping(t *testing.T) {
	want := object{
		"FunctionName": ref("SortAlias"), "EventSourceArn": get("MessagesTable", "StreamArn"),
		"StartingPosition": "TRIM_HORIZON",
		"BatchSize":        1000, "MaximumBatchingWindowInSeconds": 1, "ParallelizationFactor": 10,
		"BisectBatchOnFunctionError": true, "FunctionResponseTypes": []any{"ReportBatchItemFailures"},
		"MaximumRetryAttempts": 50, "MaximumRecordAgeInSeconds": 12 * 3600,
		"DestinationConfig": object{"OnFailure": object{"Destination": get("FailureQueue", "Arn")}},
		"FilterCriteria":    object{"Filters": []any{object{"Pattern": `{"eventName":["INSERT"]}`}}},
	}
	diff(t, "SortMapping", want, defaults().properties(t, "SortMapping", "AWS::Lambda::EventSourceMapping"))
	maps.Copy(want, object{
		"BatchSize": 10, "MaximumBatchingWindowInSeconds": 2, "ParallelizationFactor": 3,
	})
	diff(t, "SortMapping", want, changed().properties(t, "SortMapping", "AWS::Lambda::EventSourceMapping"))
}

// The same but for the window, and for what comes through: what waits in keyed queues.
func TestArrivalsMapping(t *testing.T) {
	for _, tmpl := range []template{defaults(), changed()} {
		want := maps.Clone(tmpl.properties(t, "SortMapping", "AWS::Lambda::EventSourceMapping"))
		want["EventSourceArn"], want["MaximumBatchingWindowInSeconds"] = get("ArrivalsTable", "StreamArn"), 1
		want["ParallelizationFactor"] = 1
		want["FilterCriteria"] = object{"Filters": []any{
			object{"Pattern": `{"eventName":["INSERT","MODIFY"],"dynamodb":{"Keys":{"sortKey":{"B":[{"prefix":"AQ"}]}}}}`},
		}}
		diff(t, "ArrivalsMapping", want, tmpl.properties(t, "ArrivalsMapping", "AWS::Lambda::EventSourceMapping"))
	}
}

// Every end passes the filters until it is carried out, and of what has not ended only
// stamps, whose sum no filter knows.
func TestEndsMapping(t *testing.T) {
	want := object{
		"FunctionName": ref("AckAlias"), "EventSourceArn": get("ChainsTable", "StreamArn"),
		"StartingPosition": "TRIM_HORIZON",
		"BatchSize":        100, "MaximumBatchingWindowInSeconds": 0, "ParallelizationFactor": 10,
		"BisectBatchOnFunctionError": true, "FunctionResponseTypes": []any{"ReportBatchItemFailures"},
		"MaximumRetryAttempts": 50, "MaximumRecordAgeInSeconds": 12 * 3600,
		"DestinationConfig": object{"OnFailure": object{"Destination": get("FailureQueue", "Arn")}},
		"FilterCriteria": object{"Filters": []any{
			object{"Pattern": `{"dynamodb":{"NewImage":{"due":{"N":[{"exists":true}]},"st":{"S":[{"exists":true}]}}}}`},
			object{"Pattern": `{"dynamodb":{"NewImage":{"due":{"N":[{"exists":true}]},"n":{"N":["0"]}}}}`},
			object{"Pattern": `{"dynamodb":{"NewImage":{"due":{"N":[{"exists":true}]},"stampLen":{"N":[{"exists":true}]}}}}`},
		}},
	}
	diff(t, "EndsMapping", want, defaults().properties(t, "EndsMapping", "AWS::Lambda::EventSourceMapping"))
	maps.Copy(want, object{
		"BatchSize": 30, "MaximumBatchingWindowInSeconds": 3, "ParallelizationFactor": 4,
	})
	diff(t, "EndsMapping", want, changed().properties(t, "EndsMapping", "AWS::Lambda::EventSourceMapping"))
}

func TestProcessMapping(t *testing.T) {
	diff(t, "ProcessMapping", object{
		"FunctionName": ref("ProcessAlias"), "EventSourceArn": get("CursorsTable", "StreamArn"),
		"StartingPosition": "TRIM_HORIZON",
		"BatchSize":        20, "MaximumBatchingWindowInSeconds": 1, "ParallelizationFactor": 2,
		"BisectBatchOnFunctionError": true, "FunctionResponseTypes": []any{"ReportBatchItemFailures"},
		"MaximumRetryAttempts": 50, "MaximumRecordAgeInSeconds": 12 * 3600,
		"DestinationConfig": object{"OnFailure": object{"Destination": get("FailureQueue", "Arn")}},
		"FilterCriteria":    object{"Filters": []any{object{"Pattern": `{"dynamodb":{"NewImage":{"change":{"S":["advance"]}}}}`}}},
	}, changed().properties(t, "ProcessMapping", "AWS::Lambda::EventSourceMapping"))
}

// No event source mapping of any stack, one that AddConsumer makes included, is
// left to AWS's defaults: from the newest record on, a bad one repeated until it
// expires with all that wait behind it.
func TestMappingsAreBounded(t *testing.T) {
	mappings := 0
	for _, tmpl := range []template{defaults(), changed(), granted(t, "")} {
		for id, resource := range tmpl.Resources {
			if resource["Type"] != "AWS::Lambda::EventSourceMapping" || strings.Contains(id, "TimerMapping") {
				continue // that of a queue has none of it
			}
			mappings++
			p := resource["Properties"].(object)
			diff(t, id, []any{"TRIM_HORIZON", true, []any{"ReportBatchItemFailures"}},
				[]any{p["StartingPosition"], p["BisectBatchOnFunctionError"], p["FunctionResponseTypes"]})
			retries, age := p["MaximumRetryAttempts"].(float64), p["MaximumRecordAgeInSeconds"].(float64)
			if retries < 1 || retries > 10_000 || age < 60 || age > 24*3600 || p["DestinationConfig"] == nil {
				t.Errorf("%s: %v retries, for %v s, then to %v", id, retries, age, p["DestinationConfig"])
			}
		}
	}
	if mappings != 3+4+4 {
		t.Errorf("%d mappings", mappings)
	}
}

func TestFailureQueue(t *testing.T) {
	want := object{"SqsManagedSseEnabled": true, "MessageRetentionPeriod": 14 * 24 * 3600}
	diff(t, "FailureQueue", want, defaults().properties(t, "FailureQueue", "AWS::SQS::Queue"))

	policy := defaults().properties(t, "FailureQueuePolicy", "AWS::SQS::QueuePolicy")["PolicyDocument"].(object)
	diff(t, "FailureQueuePolicy", []any{object{
		"Effect": "Deny", "Principal": object{"AWS": "*"}, "Action": "sqs:*", "Resource": get("FailureQueue", "Arn"),
		"Condition": object{"Bool": object{"aws:SecureTransport": "false"}},
	}}, policy["Statement"])
}

func TestSweepSchedule(t *testing.T) {
	for _, tmpl := range []template{defaults(), changed()} {
		got := maps.Clone(tmpl.properties(t, "SweepSchedule", "AWS::Events::Rule"))
		delete(got, "Description")
		diff(t, "SweepSchedule", object{
			"ScheduleExpression": "rate(1 minute)", "State": "ENABLED",
			"Targets": []any{object{
				"Id": "sweep", "Arn": ref("SweepAlias"),
				"RetryPolicy": object{"MaximumEventAgeInSeconds": 60, "MaximumRetryAttempts": 0},
			}},
		}, got)
		diff(t, "SweepCalls", object{
			"FunctionName": ref("SweepFunction"), "Qualifier": "live", "MaximumEventAgeInSeconds": 60, "MaximumRetryAttempts": 0,
		}, tmpl.properties(t, "SweepCalls", "AWS::Lambda::EventInvokeConfig"))
	}
	diff(t, "SweepSchedulePermission", object{
		"Action": "lambda:InvokeFunction", "Principal": "events.amazonaws.com",
		"FunctionName": ref("SweepAlias"), "SourceArn": get("SweepSchedule", "Arn"),
	}, defaults().properties(t, "SweepSchedulePermission", "AWS::Lambda::Permission"))
}

func TestRoutes(t *testing.T) {
	tmpl := defaults()
	diff(t, "ApiIntegration", object{
		"ApiId": ref("Api"), "IntegrationType": "AWS_PROXY", "IntegrationUri": ref("EnqueueAlias"),
		"PayloadFormatVersion": "2.0",
	}, tmpl.properties(t, "ApiIntegration", "AWS::ApiGatewayV2::Integration"))
	for id, key := range map[string]string{
		"PostMessages": "POST /messages", "GetMessages": "GET /messages",
		"GetQueues": "GET /queues", "PutQueues": "PUT /queues", "GetGaps": "GET /gaps",
	} {
		diff(t, id+"Route", object{
			"ApiId": ref("Api"), "RouteKey": key, "AuthorizationType": "AWS_IAM",
			"Target": object{"Fn::Join": []any{"/", []any{"integrations", ref("ApiIntegration")}}},
		}, tmpl.properties(t, id+"Route", "AWS::ApiGatewayV2::Route"))
		method, path, _ := strings.Cut(key, " ")
		diff(t, id+"Permission", object{
			"Action": "lambda:InvokeFunction", "Principal": "apigateway.amazonaws.com",
			"FunctionName": ref("EnqueueAlias"),
			"SourceArn": object{"Fn::Join": []any{"", []any{
				"arn:", ref("AWS::Partition"), ":execute-api:", ref("AWS::Region"), ":", ref("AWS::AccountId"), ":",
				ref("Api"), fmt.Sprintf("/*/%s%s", method, path),
			}}},
		}, tmpl.properties(t, id+"Permission", "AWS::Lambda::Permission"))
	}
}

// The access log has who called where all that goes well is logged, and else no more than what an
// alarm, a query and a refusal need: its bytes are paid for with each request.
func TestStage(t *testing.T) {
	check := func(tmpl template, rate int, full bool) {
		got := maps.Clone(tmpl.properties(t, "ApiStage", "AWS::ApiGatewayV2::Stage"))
		logs := got["AccessLogSettings"].(object)
		delete(got, "AccessLogSettings")
		delete(got, "RouteSettings") // the webhooks' own: TestWebhookRoutes
		diff(t, "ApiStage", object{
			"ApiId": ref("Api"), "StageName": "$default", "AutoDeploy": true,
			"DefaultRouteSettings": object{"ThrottlingRateLimit": rate, "ThrottlingBurstLimit": rate},
		}, got)
		diff(t, "access log", get("ApiLogs", "Arn"), logs["DestinationArn"])
		var line map[string]string
		if err := json.Unmarshal([]byte(logs["Format"].(string)), &line); err != nil {
			t.Fatalf("the access log's lines are no JSON: %v", err)
		}
		for field, value := range line {
			if !strings.HasPrefix(value, "$context.") {
				t.Errorf("access log: %s is %q", field, value)
			}
		}
		if line["routeKey"] == "" || line["status"] == "" || line["sourceIp"] == "" || (line["userArn"] != "") != full || line["path"] != "" {
			t.Errorf("access log: %v; want route, status, address and (%v) caller, and no path, which a request chooses", line, full)
		}
	}
	check(defaults(), 1000, false)
	check(changed(), 20, true)
}
