package streamsort

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

// addOutputs says what a deployed stack's parts are called. What a consumer's own stack needs is
// exported too: the cursors' stream, to be called by it, and the tables' names, to read the
// messages from.
func (s *Streamsort) addOutputs() {
	s.output("ApiUrl", "The HTTP API", s.api.AttrApiEndpoint())
	if s.url != nil {
		s.output("PutUrl", "Takes messages as the HTTP API does, and does nothing else", s.PutURL())
	}
	if s.tenantAPI != nil {
		s.output("TenantApiUrl", "The HTTP API for tenants, with their tokens",
			s.tenantAPI.AttrApiEndpoint())
	}
	s.output("EnqueueFunctionName", "Takes messages by direct invoke too",
		s.liveName(s.EnqueueFunction))
	s.output("EnqueuePutFunctionName", "Takes messages by direct invoke, and does nothing else: for event sources and producers", qualified(s.EnqueueFunction, putAlias))
	s.output("SortFunctionName", "Moves the cursors", s.liveName(s.SortFunction))
	s.output("SweepFunctionName", "Heals and announces", s.liveName(s.SweepFunction))
	s.output("DeliveryFunctionName", "Operates consumers by direct invoke too",
		s.liveName(s.DeliveryFunction))
	s.output("AckFunctionName", "Works on chains by direct invoke too", s.liveName(s.AckFunction))
	if s.ProcessFunction != nil {
		s.output("ProcessFunctionName", "Delivers messages", s.liveName(s.ProcessFunction))
	}
	if s.WebhookFunction != nil {
		s.output("WebhookFunctionName", "Takes what senders have signed", s.liveName(s.WebhookFunction))
	}
	s.output("FailureQueueUrl", "What the event source mapping gave up on", s.FailureQueue.QueueUrl())
	s.export("TimerQueueUrl", "What tells of due times sends wake-ups there", s.TimerQueue.QueueUrl())
	s.export("TimerQueueArn", "The same, for what such a function must be allowed",
		s.TimerQueue.QueueArn())
	s.export("MessagesTableName", "The messages", s.MessagesTable.TableName())
	s.export("CursorsTableName", "The cursors", s.CursorsTable.TableName())
	s.export("ConsumersTableName", "The consumers, and how far they are", s.ConsumersTable.TableName())
	s.export("DedupTableName", "For functions that use package dedup", s.DedupTable.TableName())
	if s.ArchiveBucket != nil {
		s.output("ArchiveBucketName", "What was archived, for streamsort replay",
			s.ArchiveBucket.BucketName())
	}
	s.export("ChainsTableName", "The acker's chains", s.ChainsTable.TableName())
	s.export("ArrivalsTableName", "The messages of queues in arrival order, and of keyed ones",
		s.ArrivalsTable.TableName())
	if s.props.EncryptionKey == NewKey {
		s.output("EncryptionKeyArn", "What tables, logs and the failure queue are encrypted with",
			s.Key.KeyArn())
	}
	s.output("AuditTableName", "What operators did, and why", s.AuditTable.TableName())
	s.output("TroubleTableName", "Which queues and consumers somebody should look at",
		s.TroubleTable.TableName())
	s.export("CursorsStreamArn", "The stream of batches, for a consumer's event source mapping",
		s.CursorsTable.TableStreamArn())
}

func (s *Streamsort) output(id, description string, value *string) awscdk.CfnOutput {
	return awscdk.NewCfnOutput(s.scope, &id,
		&awscdk.CfnOutputProps{Description: &description, Value: value})
}

func (s *Streamsort) export(id, description string, value *string) {
	s.output(id, description, value).SetExportName(jsii.String(s.id + "-" + id))
}
