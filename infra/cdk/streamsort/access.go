package streamsort

import (
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/jsii-runtime-go"

	"github.com/streamsort/streamsort/internal/announce"
	"github.com/streamsort/streamsort/internal/endpoint"
	"github.com/streamsort/streamsort/internal/quota"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/xorack"
)

func allow(actions []string, resources ...*string) awsiam.PolicyStatement {
	return awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Actions:   jsii.Strings(actions...),
		Resources: &resources,
	})
}

func (s *Streamsort) arn(service, resource string) *string {
	return awscdk.Stack_Of(s.scope).FormatArn(&awscdk.ArnComponents{
		Service: &service, Resource: &resource, ArnFormat: awscdk.ArnFormat_NO_RESOURCE_NAME,
	})
}

func on(of awsdynamodb.TableV2, requests ...string) awsiam.PolicyStatement {
	actions := make([]string, len(requests))
	for i, request := range requests {
		actions[i] = "dynamodb:" + request
	}
	return allow(actions, of.TableArn())
}

// enqueueAccess: look at a message, put it, read on from the position; make, read, move and set up
// a cursor; list queues; count.
func (s *Streamsort) enqueueAccess() []awsiam.PolicyStatement {
	return []awsiam.PolicyStatement{
		on(s.MessagesTable, "GetItem", "PutItem", "Query"),
		on(s.ArrivalsTable, "PutItem"),
		s.keepArrivals(),
		s.moveCursors(),
		on(s.CursorsTable, "Scan"),
		s.onTrouble("Query"),
		s.count(),
	}
}

// sortAccess: read on from the position and move the cursor; it never writes a message, and deletes
// those that came late to an erased queue. From keyed queues it reads what waits, keeps it from
// expiring, and puts order items. The event source mappings work under the same role: they read the
// streams and send on what they give up on.
func (s *Streamsort) sortAccess() []awsiam.PolicyStatement {
	return []awsiam.PolicyStatement{
		on(s.MessagesTable, "BatchWriteItem", "GetItem", "PutItem", "Query"),
		on(s.ArrivalsTable, "Query", "UpdateItem"),
		s.moveCursors(),
		s.readStream(s.MessagesTable),
		s.readStream(s.ArrivalsTable),
		allow([]string{"sqs:SendMessage"}, s.FailureQueue.QueueArn()),
	}
}

// sweepAccess: look through all cursors and move them, put tombstones, push the expiry of messages
// forward, look after the consumers of each queue, note how far it came, and announce what is
// stuck; delete what was delivered, where that is wanted; delete what is stored of erased queues,
// in archives too; take wake-ups.
func (s *Streamsort) sweepAccess() []awsiam.PolicyStatement {
	oldest := trouble.Definition(trouble.DefaultName).Index.Name // who is in trouble for longest
	statements := []awsiam.PolicyStatement{
		on(s.MessagesTable, "BatchWriteItem", "GetItem", "PutItem", "Query", "UpdateItem"),
		s.keepArrivals(),
		on(s.ArrivalsTable, "BatchWriteItem"),
		on(s.CursorsTable, "GetItem", "UpdateItem"),
		on(s.CursorsTable, "Scan"),
		under(on(s.TroubleTable, "GetItem", "PutItem"), "StringLike", string(trouble.SweepKey)),
		on(s.AuditTable, "PutItem"),
		on(s.ConsumersTable, "DeleteItem", "GetItem", "PutItem", "Query", "UpdateItem"),
		s.noteTrouble(),
		s.onTrouble("BatchWriteItem"),
		s.onTrouble("Query"),
		allow([]string{"dynamodb:Query"}, jsii.String(*s.TroubleTable.TableArn()+"/index/"+oldest)),
	}
	// What the timer's event source mapping does, under the function's role.
	takeWakeUps := allow([]string{"sqs:DeleteMessage", "sqs:GetQueueAttributes",
		"sqs:ReceiveMessage"}, s.TimerQueue.QueueArn())
	return append(slices.Concat(statements, eraseArchives(s.props.Consumers), s.finishChains(),
		s.announce()), takeWakeUps)
}

// announce: put events, publish messages and invoke a function, where that is wanted.
func (s *Streamsort) announce() (statements []awsiam.PolicyStatement) {
	if topic := *s.props.AnnounceTopic; topic != "" {
		statements = append(statements, allow([]string{"sns:Publish"}, &topic))
	}
	if bus := *s.props.EventBus; bus != "" {
		statements = append(statements,
			ownEvents(allow([]string{"events:PutEvents"}, s.arn("events", "event-bus/"+bus))))
	}
	if function := *s.props.AnnounceFunction; function != "" {
		statements = append(statements, allow([]string{"lambda:InvokeFunction"}, &function))
	}
	return statements
}

// ownEvents allows to put no events but those of our own source, so that nobody can pass for
// another one by a function of ours.
func ownEvents(statement awsiam.PolicyStatement) awsiam.PolicyStatement {
	statement.AddCondition(jsii.String("ForAllValues:StringEquals"),
		map[string]any{"events:source": announce.Source})
	return statement
}

// ackAccess: create, read, list and end chains, and finish those that the stream shows as ended:
// the claim of a tracked batch, too, whose consumer is then woken up, and what it says of whether
// the consumer takes anything: that its circuit is open, too. What fails or times out is noted,
// until it is deleted.
func (s *Streamsort) ackAccess() []awsiam.PolicyStatement {
	statements := []awsiam.PolicyStatement{
		on(s.CursorsTable, "GetItem", "UpdateItem"),
		s.changeConsumers(),
		s.onTrouble("DeleteItem", "PutItem"),
		s.onTrouble("Query"),
		on(s.ChainsTable, "PutItem"),
		s.readStream(s.ChainsTable),
		allow([]string{"sqs:SendMessage"}, s.FailureQueue.QueueArn()),
	}
	return slices.Concat(statements, s.finishChains(), s.announce())
}

// finishChains: look for chains that are due, too.
func (s *Streamsort) finishChains() []awsiam.PolicyStatement {
	index := (xorack.Names{}).Tables()[0].Index.Name
	return []awsiam.PolicyStatement{
		on(s.ChainsTable, "GetItem", "UpdateItem"),
		allow([]string{"dynamodb:Query"}, jsii.String(*s.ChainsTable.TableArn()+"/index/"+index)),
	}
}

// processAccess: deliver, hand batches to the sinks, look where a queue's endpoint is, and read the
// cursors' stream as the event source mapping does; open the chains of tracked batches.
func (s *Streamsort) processAccess() []awsiam.PolicyStatement {
	statements := append(s.slowAccess(), toSinks(s.props.Consumers)...)
	if tracks(s.props.Consumers) {
		statements = append(statements, on(s.ChainsTable, "GetItem", "UpdateItem"))
	}
	return append(statements,
		s.readStream(s.CursorsTable),
		allow([]string{"sqs:SendMessage"}, s.FailureQueue.QueueArn()),
	)
}

// slowAccess: deliver, and look where a queue's endpoint is. It has no other sinks, and what a
// tenant has of its calls is counted beside the consumers.
func (s *Streamsort) slowAccess() []awsiam.PolicyStatement {
	return append(s.deliverAccess(), s.useEndpoints("GetItem"), s.noteTrouble(), s.count())
}

// deliverAccess: make a consumer of a queue, for which messages that are about to expire are kept
// and the cursor is read and notified; read messages; claim and commit; put replies to any queue,
// and record those that cannot be put.
func (s *Streamsort) deliverAccess() []awsiam.PolicyStatement {
	return []awsiam.PolicyStatement{
		on(s.MessagesTable, "GetItem", "PutItem", "Query", "UpdateItem"),
		on(s.ArrivalsTable, "PutItem"),
		s.keepArrivals(),
		s.moveCursors(),
		on(s.AuditTable, "PutItem"),
		s.changeConsumers(),
	}
}

// changeConsumers: read and change consumers, and no endpoint of webhooks: these are in the same
// table, with their secrets. Each of the actions names the partition, so that the condition holds
// for all; a scan, or a batch, would not be here.
func (s *Streamsort) changeConsumers() awsiam.PolicyStatement {
	statement := on(s.ConsumersTable, "GetItem", "PutItem", "UpdateItem")
	return under(statement, "StringNotLike", endpoint.Keys+"*")
}

// useEndpoints: what is done with endpoints, and nothing else in their table.
func (s *Streamsort) useEndpoints(actions ...string) awsiam.PolicyStatement {
	return under(on(s.ConsumersTable, actions...), "StringLike", endpoint.Keys+"*")
}

// under has a statement be about items whose partition keys are like the patterns, or not like any.
func under(statement awsiam.PolicyStatement, operator string,
	patterns ...string) awsiam.PolicyStatement {
	statement.AddCondition(jsii.String("ForAllValues:"+operator),
		map[string]any{"dynamodb:LeadingKeys": patterns})
	return statement
}

// onTrouble allows what is done with rows of the trouble table: neither with what tenants took of
// their quotas, nor with how far a sweep is, which are there too.
func (s *Streamsort) onTrouble(actions ...string) awsiam.PolicyStatement {
	return under(on(s.TroubleTable, actions...), "StringNotLike", quota.Keys+"*",
		string(trouble.SweepKey))
}

// noteTrouble: note that a queue or a consumer is in a state that somebody should know of, where it
// is not noted yet, and that it is over.
func (s *Streamsort) noteTrouble() awsiam.PolicyStatement {
	return s.onTrouble("DeleteItem", "GetItem", "PutItem")
}

// count: add to how many messages were stored and delivered.
func (s *Streamsort) count() awsiam.PolicyStatement {
	return under(on(s.TroubleTable, "UpdateItem"), "StringLike", string(trouble.CountsKey))
}

// deliveryAccess: what operators do to consumers, and the record of it; erase queues, and look for
// those of a tenant; list consumers, and who is in trouble. A queue may have a consumer before it
// has a message, or a cursor.
func (s *Streamsort) deliveryAccess() []awsiam.PolicyStatement {
	return append(s.deliverAccess(),
		on(s.ConsumersTable, "DeleteItem", "Query"),
		s.useEndpoints("GetItem", "PutItem"),
		on(s.AuditTable, "Query"),
		on(s.MessagesTable, "BatchWriteItem"),
		on(s.ArrivalsTable, "BatchWriteItem"),
		s.noteTrouble(),
		s.onTrouble("BatchWriteItem"),
		s.onTrouble("Query"),
		on(s.CursorsTable, "Scan"),
	)
}

// keepArrivals: read what came in arrival order, one by one, or by key, in runs; and push its
// expiry forward.
func (s *Streamsort) keepArrivals() awsiam.PolicyStatement {
	return on(s.ArrivalsTable, "BatchGetItem", "Query", "UpdateItem")
}

// readStream: what an event source mapping does with a table's stream.
func (s *Streamsort) readStream(of awsdynamodb.TableV2) awsiam.PolicyStatement {
	return allow([]string{
		"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator", "dynamodb:ListStreams",
	}, of.TableStreamArn())
}

// moveCursors: PutItem makes the cursor of a queue that has none.
func (s *Streamsort) moveCursors() awsiam.PolicyStatement {
	return on(s.CursorsTable, "GetItem", "PutItem", "UpdateItem")
}
