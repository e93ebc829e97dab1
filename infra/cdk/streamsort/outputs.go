package streamsort

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

// addOutputs says what a deployed stack's parts are called. What a consumer's own stack needs is
// exported too: the cursors' stream, to be called by it, and the tables' names, to read the
// messages from.
func (s *Streamsort) addOutputs() {
	const exported = true
	var bucket, key *string
	if s.ArchiveBucket != nil {
		bucket = s.ArchiveBucket.BucketName()
	}
	if s.props.EncryptionKey == NewKey {
		key = s.Key.KeyArn()
	}
	for _, o := range []struct {
		id, description string
		value           *string // a nil one is left out
		exported        bool
	}{
		{"ApiUrl", "The HTTP API", s.APIEndpoint(), false},
		{"PutUrl", "Takes messages as the HTTP API does, and does nothing else", s.PutURL(), false},
		{"TenantApiUrl", "The HTTP API for tenants, with their tokens", s.TenantAPIEndpoint(), false},
		{"EnqueueFunctionName", "Takes messages by direct invoke too", s.liveName(s.EnqueueFunction), false},
		{"EnqueuePutFunctionName", "Takes messages by direct invoke, and does nothing else: for event sources and producers", qualified(s.EnqueueFunction, putAlias), false},
		{"SortFunctionName", "Moves the cursors", s.liveName(s.SortFunction), false},
		{"SweepFunctionName", "Heals and announces", s.liveName(s.SweepFunction), false},
		{"DeliveryFunctionName", "Operates consumers by direct invoke too", s.liveName(s.DeliveryFunction), false},
		{"AckFunctionName", "Works on chains by direct invoke too", s.liveName(s.AckFunction), false},
		{"ProcessFunctionName", "Delivers messages", s.liveName(s.ProcessFunction), false},
		{"WebhookFunctionName", "Takes what senders have signed", s.liveName(s.WebhookFunction), false},
		{"FailureQueueUrl", "What the event source mapping gave up on", s.FailureQueue.QueueUrl(), false},
		{"TimerQueueUrl", "What tells of due times sends wake-ups there", s.TimerQueue.QueueUrl(), exported},
		{"TimerQueueArn", "The same, for what such a function must be allowed", s.TimerQueue.QueueArn(), exported},
		{"MessagesTableName", "The messages", s.MessagesTable.TableName(), exported},
		{"CursorsTableName", "The cursors", s.CursorsTable.TableName(), exported},
		{"ConsumersTableName", "The consumers, and how far they are", s.ConsumersTable.TableName(), exported},
		{"DedupTableName", "For functions that use package dedup", s.DedupTable.TableName(), exported},
		{"ArchiveBucketName", "What was archived, for streamsort replay", bucket, false},
		{"ChainsTableName", "The acker's chains", s.ChainsTable.TableName(), exported},
		{"ArrivalsTableName", "The messages of queues in arrival order, and of keyed ones", s.ArrivalsTable.TableName(), exported},
		{"EncryptionKeyArn", "What tables, logs and the failure queue are encrypted with", key, false},
		{"AuditTableName", "What operators did, and why", s.AuditTable.TableName(), false},
		{"TroubleTableName", "Which queues and consumers somebody should look at", s.TroubleTable.TableName(), false},
		{"CursorsStreamArn", "The stream of batches, for a consumer's event source mapping", s.CursorsTable.TableStreamArn(), exported},
	} {
		if o.value == nil {
			continue
		}
		made := awscdk.NewCfnOutput(s.scope, &o.id,
			&awscdk.CfnOutputProps{Description: &o.description, Value: o.value})
		if o.exported {
			made.SetExportName(jsii.String(s.id + "-" + o.id))
		}
	}
}
