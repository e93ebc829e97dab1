package streamsort

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"

	"github.com/streamsort/streamsort/internal/eager"
)

const (
	// eagerCallAge is how old a call of process may get where it has no environment: the least that
	// Lambda knows. By then the stream has had the queue delivered.
	eagerCallAge = time.Minute
	// maxFunctionName is how long a function's name may be.
	maxFunctionName = 64
)

func isEager(c Consumer) bool { return c.Eager && c.Sink != nil }

// processName is the name that process has where a consumer is eager. Nothing refers to process by
// it: its sinks may put messages in turn, and CloudFormation takes no circle. No two stacks of an
// account have the same tables.
func processName(tables string, all []Consumer) (string, error) {
	name := strings.ReplaceAll(tables, ".", "-") + "-process"
	if slices.ContainsFunc(all, isEager) && len(name) > maxFunctionName {
		return "", fmt.Errorf("tables is %q, and a consumer is eager: process is called %s then, which has %d characters; %d is the most: write a shorter one", tables, name, len(name), maxFunctionName)
	}
	return name, nil
}

// addEager has what moves queues call process at once, where a consumer is eager. It may be called
// again, when there are more of them.
func (s *Streamsort) addEager() {
	consumers := slices.Clone(s.props.Consumers)
	consumers = slices.DeleteFunc(consumers, func(c Consumer) bool { return !isEager(c) })
	if len(consumers) == 0 {
		return
	}
	// What is wrong with either was reported before anything was made.
	name, _ := processName(s.props.Tables, consumers)
	text, _ := readersText(consumers)
	s.ProcessFunction.Node().DefaultChild().(awslambda.CfnFunction).SetFunctionName(&name)
	live := s.arn("lambda", "function:"+name+":"+alias)
	if s.eager == nil {
		boundCalls(s.scope, "ProcessCalls", s.live[s.ProcessFunction], eagerCallAge, 0, nil)
		// It is in no role's own policy: in that of process, the CDK would join it with what sinks
		// need.
		s.eager = awsiam.NewPolicy(s.scope, jsii.String("CallProcess"), &awsiam.PolicyProps{
			Statements: &[]awsiam.PolicyStatement{allow([]string{"lambda:InvokeFunction"}, live)},
		})
	}
	for _, f := range s.functions() {
		if f.function == s.AckFunction || f.function == s.SlowFunction {
			continue // they move no queue
		}
		if f.function != s.SweepFunction && f.function != s.ProcessFunction { // which have all of them
			f.function.AddEnvironment(jsii.String(readersVariable), &text, nil)
		}
		f.function.AddEnvironment(jsii.String(eager.Variable), live, nil)
		s.eager.AttachToRole(f.function.Role())
	}
}
