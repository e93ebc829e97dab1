package streamsort

import "testing"

func TestTimer(t *testing.T) {
	tmpl := defaults()
	diff(t, "TimerQueue", object{"SqsManagedSseEnabled": true, "MessageRetentionPeriod": 3600, "VisibilityTimeout": 1800},
		tmpl.properties(t, "TimerQueue", "AWS::SQS::Queue"))
	diff(t, "TimerMapping", object{
		"FunctionName": ref("SweepAlias"), "EventSourceArn": get("TimerQueue", "Arn"), "BatchSize": 10,
		"FunctionResponseTypes": []any{"ReportBatchItemFailures"}, "ScalingConfig": object{"MaximumConcurrency": 10},
	}, tmpl.properties(t, "TimerMapping", "AWS::Lambda::EventSourceMapping"))
	policy := tmpl.properties(t, "TimerQueuePolicy", "AWS::SQS::QueuePolicy")["PolicyDocument"].(object)
	diff(t, "TimerQueuePolicy", []any{object{
		"Effect": "Deny", "Principal": object{"AWS": "*"}, "Action": "sqs:*", "Resource": get("TimerQueue", "Arn"),
		"Condition": object{"Bool": object{"aws:SecureTransport": "false"}},
	}}, policy["Statement"])
}
