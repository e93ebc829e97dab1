package ministack

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// stacks are called as the account's root.
func (s *Server) stacks() *cloudformation.Client {
	return cloudformation.New(cloudformation.Options{
		Region: Region, BaseEndpoint: &s.Endpoint, HTTPClient: s.client, Retryer: aws.NopRetryer{},
		Credentials: credentials.NewStaticCredentialsProvider(AccessKeyID, SecretKey, ""),
	})
}

// Deploy makes a stack of a template, with the values of its parameters, and returns its outputs.
// ctx bounds the wait.
func (s *Server) Deploy(
	ctx context.Context, stack string, template []byte, parameters map[string]string,
) (map[string]string, error) {
	body := string(template)
	outputs, err := s.create(ctx, &cloudformation.CreateStackInput{
		StackName: &stack, TemplateBody: &body, Parameters: values(parameters),
		Capabilities: []types.Capability{types.CapabilityCapabilityNamedIam},
	})
	if err != nil {
		return nil, err
	}
	return outputs, s.makeFIFO(ctx)
}

// CreateStack makes a stack of a template in a bucket, as somebody would who may make roles, but
// none with names of their own; it returns the stack's outputs.
func (s *Server) CreateStack(ctx context.Context, stack, template string,
	parameters map[string]string) (map[string]string, error) {
	return s.create(ctx, &cloudformation.CreateStackInput{
		StackName: &stack, TemplateURL: aws.String(s.Endpoint + template), Parameters: values(parameters),
		Capabilities: []types.Capability{types.CapabilityCapabilityIam},
	})
}

func (s *Server) create(
	ctx context.Context, stack *cloudformation.CreateStackInput,
) (outputs map[string]string, err error) {
	if _, err := s.stacks().CreateStack(ctx, stack); err != nil {
		return nil, fmt.Errorf("make the resources of stack %s: %w", *stack.StackName, err)
	}
	return s.awaitStack(ctx, *stack.StackName, types.StackStatusCreateComplete)
}

// values are those of a stack's parameters.
func values(parameters map[string]string) []types.Parameter {
	var all []types.Parameter
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		value := parameters[name]
		all = append(all, types.Parameter{ParameterKey: &name, ParameterValue: &value})
	}
	return all
}

// UpdateStack changes a stack to a template in a bucket. Parameters that are not among the changed
// ones stay as they are where the stack has them already, which is what `aws cloudformation deploy`
// does.
func (s *Server) UpdateStack(ctx context.Context, stack, template string,
	changed map[string]string) (map[string]string, error) {
	had, err := s.describe(ctx, stack)
	if err != nil {
		return nil, err
	}
	parameters := values(changed)
	for _, parameter := range had.Parameters {
		if _, is := changed[*parameter.ParameterKey]; !is {
			parameters = append(parameters, types.Parameter{
				ParameterKey: parameter.ParameterKey, UsePreviousValue: aws.Bool(true),
			})
		}
	}
	_, err = s.stacks().UpdateStack(ctx, &cloudformation.UpdateStackInput{
		StackName: &stack, TemplateURL: aws.String(s.Endpoint + template), Parameters: parameters,
		Capabilities: []types.Capability{types.CapabilityCapabilityIam},
	})
	if err != nil {
		return nil, fmt.Errorf("update stack %s: %w", stack, err)
	}
	outputs, err := s.awaitStack(ctx, stack, types.StackStatusUpdateComplete)
	if err != nil {
		return nil, err
	}
	return outputs, s.countBatches(ctx)
}

// countBatches has the batch sizes of all event source mappings be numbers: MiniStack's
// CloudFormation makes texts of them in an update where a parameter says them, and reads no stream
// from then on.
func (s *Server) countBatches(ctx context.Context) error {
	const path = "/2015-03-31/event-source-mappings/"
	text, err := s.Request(ctx, "lambda", http.MethodGet, path, nil)
	if err != nil {
		return fmt.Errorf("list event source mappings: %w", err)
	}
	var list struct {
		EventSourceMappings []struct {
			UUID      string
			BatchSize any
		}
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return err
	}
	for _, mapping := range list.EventSourceMappings {
		size, is := mapping.BatchSize.(string)
		if !is {
			continue
		}
		if _, err = s.Request(ctx, "lambda", http.MethodPut, path+mapping.UUID,
			[]byte(`{"BatchSize":`+size+`}`)); err != nil {
			return fmt.Errorf("set the batch size of mapping %s: %w", mapping.UUID, err)
		}
	}
	return nil
}

// DeleteStack takes a stack away, but for what its template retains.
func (s *Server) DeleteStack(ctx context.Context, stack string) error {
	had, err := s.describe(ctx, stack)
	if err != nil {
		return err
	}
	_, err = s.stacks().DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: &stack})
	if err != nil {
		return fmt.Errorf("delete stack %s: %w", stack, err)
	}
	// A stack that is gone is known by its id alone.
	_, err = s.awaitStack(ctx, *had.StackId, types.StackStatusDeleteComplete)
	return err
}

// awaitStack waits until nothing of a stack is in progress, and returns its outputs. It is an error
// if it is in another state then. The SDK's waiter does not say which resource failed.
func (s *Server) awaitStack(
	ctx context.Context, stack string, want types.StackStatus,
) (outputs map[string]string, err error) {
	for {
		described, err := s.describe(ctx, stack)
		if err != nil {
			return nil, err
		}
		switch {
		case described.StackStatus == want:
			outputs = map[string]string{}
			for _, output := range described.Outputs {
				outputs[*output.OutputKey] = aws.ToString(output.OutputValue)
			}
			return outputs, nil
		case !strings.HasSuffix(string(described.StackStatus), "_IN_PROGRESS"):
			return nil, fmt.Errorf("MiniStack left stack %s in %s: %s%s", *described.StackName,
				described.StackStatus, aws.ToString(described.StackStatusReason), s.failed(ctx, stack))
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// failed is which resources of a stack failed, and why.
func (s *Server) failed(ctx context.Context, stack string) (all string) {
	asked := &cloudformation.DescribeStackEventsInput{StackName: &stack}
	answer, err := s.stacks().DescribeStackEvents(ctx, asked)
	if err != nil {
		return err.Error()
	}
	for _, e := range answer.StackEvents {
		if strings.HasSuffix(string(e.ResourceStatus), "_FAILED") {
			all += "; " + aws.ToString(e.LogicalResourceId) + ": " + aws.ToString(e.ResourceStatusReason)
		}
	}
	return all
}

// describe looks at one stack, by its name or its id.
func (s *Server) describe(ctx context.Context, stack string) (types.Stack, error) {
	asked := &cloudformation.DescribeStacksInput{StackName: &stack}
	answer, err := s.stacks().DescribeStacks(ctx, asked)
	if err != nil {
		return types.Stack{}, fmt.Errorf("look at stack %s: %w", stack, err)
	}
	if len(answer.Stacks) != 1 {
		return types.Stack{}, fmt.Errorf("MiniStack described %d stacks, not one", len(answer.Stacks))
	}
	return answer.Stacks[0], nil
}

// makeFIFO makes all topics FIFO that are named so: MiniStack's CloudFormation leaves the property
// FifoTopic out.
func (s *Server) makeFIFO(ctx context.Context) error {
	for token := ""; ; {
		var page struct {
			Topics []string `xml:"ListTopicsResult>Topics>member>TopicArn"`
			Next   string   `xml:"ListTopicsResult>NextToken"`
		}
		if err := s.sns(ctx, url.Values{"Action": {"ListTopics"}, "NextToken": {token}},
			&page); err != nil {
			return fmt.Errorf("list topics: %w", err)
		}
		for _, topic := range page.Topics {
			if !strings.HasSuffix(topic, ".fifo") {
				continue
			}
			set := url.Values{"Action": {"SetTopicAttributes"}, "TopicArn": {topic},
				"AttributeName": {"FifoTopic"}, "AttributeValue": {"true"}}
			if err := s.sns(ctx, set, &struct{}{}); err != nil {
				return fmt.Errorf("make topic %s FIFO: %w", topic, err)
			}
		}
		if token = page.Next; token == "" {
			return nil
		}
	}
}

// sns makes one call of SNS, by the Query protocol: its SDK would add 1.5 MB to the command line.
func (s *Server) sns(ctx context.Context, form url.Values, answer any) error {
	form.Set("Version", "2010-03-31")
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	text, err := s.send(ctx, "sns", http.MethodPost, "", header, []byte(form.Encode()))
	if err != nil {
		return err
	}
	return xml.Unmarshal(text, answer)
}
