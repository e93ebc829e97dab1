package streamsort

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
)

// maxReaders is how many functions may read one stream: with more, DynamoDB throttles all of them.
const maxReaders = 2

// AddConsumer puts a function of the caller's behind the cursors' stream: with the event source
// mapping that delivery.OnStream is made for, with what it needs to be allowed, and with the
// tables' names in its environment: STREAMSORT_MESSAGES_TABLE, STREAMSORT_CURSORS_TABLE,
// STREAMSORT_CONSUMERS_TABLE, STREAMSORT_ARRIVALS_TABLE, STREAMSORT_DEDUP_TABLE and
// STREAMSORT_TIMER_QUEUE (package timer). The mapping is as process's, by the properties that begin
// with Process.
//
// readers are the names, and the prefixes, of the delivery.Readers in it, so that the sweep looks
// after them: it wakes up one whose stream record was dropped, and blocks one whose process died
// MaxAttempts times. Another field than Name, Prefix, MaxAttempts and Track is an error: the
// function's delivery.Reader has it. Where one has Track, the function may open chains, and gets
// their table in STREAMSORT_CHAINS_TABLE.
//
// It is an error where two functions, process among them, read the stream already: pass more
// readers to delivery.OnStream, or let process deliver.
func (s *Streamsort) AddConsumer(id string, function awslambda.Function,
	readers ...Consumer) error {
	if s.readers == maxReaders {
		return fmt.Errorf("consumer %s: two functions read the cursors' stream, which is all it can have; "+
			"pass more readers to delivery.OnStream in one of them, or let process deliver (AddSink)", id)
	}
	for _, c := range readers {
		read := Consumer{Name: c.Name, Prefix: c.Prefix, MaxAttempts: c.MaxAttempts, Track: c.Track}
		if !reflect.DeepEqual(c, read) {
			return fmt.Errorf("consumer %q: has a field that nothing reads here: set all but Name, Prefix, MaxAttempts and Track "+
				"in the function's delivery.Reader, which the third argument of deliverylambda.Start changes", c.Name)
		}
	}
	if err := s.addReaders(readers); err != nil {
		return err
	}
	s.readers++
	environment := map[string]*string{
		"STREAMSORT_MESSAGES_TABLE": s.MessagesTable.TableName(), "STREAMSORT_CURSORS_TABLE": s.CursorsTable.TableName(),
		"STREAMSORT_CONSUMERS_TABLE": s.ConsumersTable.TableName(), "STREAMSORT_ARRIVALS_TABLE": s.ArrivalsTable.TableName(),
		"STREAMSORT_DEDUP_TABLE": s.DedupTable.TableName(), timerVariable: s.TimerQueue.QueueUrl(),
	}
	// Package dedup does all with its table but list it.
	deduplicate := on(s.DedupTable, "GetItem", "PutItem", "UpdateItem")
	statements := append(s.deliverAccess(), deduplicate, s.readStream(s.CursorsTable),
		allow([]string{"sqs:SendMessage"}, s.FailureQueue.QueueArn()))
	statements = slices.Concat(statements, s.sendWakeUps(), s.useKey("dynamodb", "sqs"))
	if tracks(readers) {
		environment["STREAMSORT_CHAINS_TABLE"] = s.ChainsTable.TableName()
		statements = append(statements, on(s.ChainsTable, "GetItem", "UpdateItem"))
	}
	for name, value := range environment {
		function.AddEnvironment(&name, value, nil)
	}
	for _, statement := range statements {
		function.AddToRolePolicy(statement)
	}
	s.addMapping(id+"Mapping", function.FunctionName(), s.CursorsTable,
		s.props.Functions["process"], moves)
	return nil
}

// GrantProduce allows to put messages, and nothing else: by the HTTP API, by the function URL where
// there is one, and by direct invoke of enqueue's alias put.
func (s *Streamsort) GrantProduce(grantee awsiam.IGrantable) {
	s.grant(grantee, "lambda:InvokeFunction", s.put.AliasRef().AliasArn)
	s.grant(grantee, "execute-api:Invoke", s.routeARN(s.api, "POST", "/messages"))
	s.grantURL(grantee)
}

// GrantConfigure allows to make queues with settings of their own, to change their settings and to
// see them, by the HTTP API.
func (s *Streamsort) GrantConfigure(grantee awsiam.IGrantable) {
	for _, method := range []string{"GET", "PUT"} {
		s.grant(grantee, "execute-api:Invoke", s.routeARN(s.api, method, "/queues"))
	}
}

// GrantConsume allows to claim, read and commit on the tables, as package delivery does.
func (s *Streamsort) GrantConsume(grantee awsiam.IGrantable) {
	for _, statement := range append(s.deliverAccess(), s.useKey("dynamodb")...) {
		grantee.GrantPrincipal().AddToPrincipalPolicy(statement)
	}
}

// GrantAck allows to tell ack that work is done, or failed, and to track work of one's own: by the
// HTTP API, by direct invoke of ack, and on the table, as package xorack does.
func (s *Streamsort) GrantAck(grantee awsiam.IGrantable) {
	s.grant(grantee, "lambda:InvokeFunction", s.liveARN(s.AckFunction))
	s.grant(grantee, "execute-api:Invoke", s.routeARN(s.api, "POST", "/acks"))
	access := on(s.ChainsTable, "GetItem", "PutItem", "UpdateItem")
	for _, statement := range append(s.useKey("dynamodb"), access) {
		grantee.GrantPrincipal().AddToPrincipalPolicy(statement)
	}
}

// GrantOperate allows to see and to steer queues and consumers: every route of the HTTP API but the
// one that puts messages, and direct invokes of delivery.
func (s *Streamsort) GrantOperate(grantee awsiam.IGrantable) {
	s.grant(grantee, "lambda:InvokeFunction", s.liveARN(s.DeliveryFunction))
	for _, route := range s.routes() {
		if route.id != "PostMessages" {
			s.grant(grantee, "execute-api:Invoke", s.routeARN(s.api, route.method, route.path))
		}
	}
}

func (s *Streamsort) grant(grantee awsiam.IGrantable, action string, resource *string) {
	grantee.GrantPrincipal().AddToPrincipalPolicy(allow([]string{action}, resource))
}

// routeARN is what a caller of an API's route needs to be allowed to invoke.
func (s *Streamsort) routeARN(api awsapigatewayv2.CfnApi, method, path string) *string {
	return s.arn("execute-api", *api.Ref()+"/*/"+method+path)
}

// APIEndpoint is the address of the HTTP API.
func (s *Streamsort) APIEndpoint() *string { return s.api.AttrApiEndpoint() }
