package streamsort

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/jsii-runtime-go"
)

// allow is a statement that allows the actions on the resources.
func allow(actions []string, resources ...*string) awsiam.PolicyStatement {
	return awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
		Actions:   jsii.Strings(actions...),
		Resources: &resources,
	})
}

// enqueueAccess: look at a message, put it, read on from the position; make,
// read, move and set up a cursor.
func (s *Stack) enqueueAccess() []awsiam.PolicyStatement {
	return []awsiam.PolicyStatement{
		allow([]string{"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"}, s.MessagesTable.TableArn()),
		s.moveCursors(),
	}
}

// sortAccess: read on from the position and move the cursor; it never writes a
// message. The event source mapping works under the same role: it reads the
// stream and hands over what it gives up on.
func (s *Stack) sortAccess() []awsiam.PolicyStatement {
	return []awsiam.PolicyStatement{
		allow([]string{"dynamodb:GetItem", "dynamodb:Query"}, s.MessagesTable.TableArn()),
		s.moveCursors(),
		allow([]string{
			"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator", "dynamodb:ListStreams",
		}, s.MessagesTable.TableStreamArn()),
		allow([]string{"sqs:SendMessage"}, s.FailureQueue.QueueArn()),
	}
}

// sweepAccess: look through all cursors and move them, put tombstones, push
// the expiry of messages forward, note how far it came, and announce gaps.
func (s *Stack) sweepAccess() []awsiam.PolicyStatement {
	statements := []awsiam.PolicyStatement{
		allow([]string{"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"}, s.MessagesTable.TableArn()),
		s.moveCursors(),
		allow([]string{"dynamodb:Scan"}, s.CursorsTable.TableArn()),
		allow([]string{"dynamodb:GetItem", "dynamodb:PutItem"}, s.SweepsTable.TableArn()),
	}
	if bus := *s.props.EventBus; bus != "" {
		statements = append(statements, allow([]string{"events:PutEvents"}, s.Stack.FormatArn(&awscdk.ArnComponents{
			Service: jsii.String("events"), Resource: jsii.String("event-bus"), ResourceName: &bus,
		})))
	}
	return statements
}

// moveCursors: PutItem makes the cursor of a queue that has none.
func (s *Stack) moveCursors() awsiam.PolicyStatement {
	return allow([]string{"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"}, s.CursorsTable.TableArn())
}
