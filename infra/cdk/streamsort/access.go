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

// putAndMove is what storing messages and moving cursors takes: look at a
// message, put it, read on from the position; make, read and move a cursor.
func (s *Stack) putAndMove() []awsiam.PolicyStatement {
	return []awsiam.PolicyStatement{
		allow([]string{"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"}, s.MessagesTable.TableArn()),
		allow([]string{"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"}, s.CursorsTable.TableArn()),
	}
}

func (s *Stack) enqueueAccess() []awsiam.PolicyStatement { return s.putAndMove() }

// sortAccess lets the event source mapping, which works under the function's
// role, read the stream and hand over what it gives up on.
func (s *Stack) sortAccess() []awsiam.PolicyStatement {
	return append(s.putAndMove(),
		allow([]string{
			"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator", "dynamodb:ListStreams",
		}, s.MessagesTable.TableStreamArn()),
		allow([]string{"sqs:SendMessage"}, s.FailureQueue.QueueArn()),
	)
}

// sweepAccess adds pushing the expiry of messages forward, looking through all
// cursors, noting how far it came, and announcing gaps.
func (s *Stack) sweepAccess() []awsiam.PolicyStatement {
	statements := []awsiam.PolicyStatement{
		allow([]string{"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"}, s.MessagesTable.TableArn()),
		allow([]string{"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:Scan"}, s.CursorsTable.TableArn()),
		allow([]string{"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"}, s.SweepsTable.TableArn()),
	}
	if bus := *s.props.EventBus; bus != "" {
		statements = append(statements, allow([]string{"events:PutEvents"}, s.Stack.FormatArn(&awscdk.ArnComponents{
			Service: jsii.String("events"), Resource: jsii.String("event-bus"), ResourceName: &bus,
		})))
	}
	return statements
}
