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
)

// Deploy makes a stack of a template and returns its outputs. ctx bounds the wait.
func (s *Server) Deploy(ctx context.Context, stack string, template []byte) (map[string]string, error) {
	return s.DeployWith(ctx, stack, template, nil)
}

// DeployWith is Deploy with the values of the template's parameters.
func (s *Server) DeployWith(ctx context.Context, stack string, template []byte, parameters map[string]string) (map[string]string, error) {
	outputs, err := s.change(ctx, "CreateStack", stack, parameters, url.Values{
		"TemplateBody": {string(template)}, "Capabilities.member.1": {"CAPABILITY_NAMED_IAM"},
	})
	if err != nil {
		return nil, err
	}
	return outputs, s.makeFIFO(ctx)
}

// CreateStack makes a stack of a template in a bucket, as somebody would who may make roles, but
// none with names of their own; it returns the stack's outputs.
func (s *Server) CreateStack(ctx context.Context, stack, template string, parameters map[string]string) (map[string]string, error) {
	return s.change(ctx, "CreateStack", stack, parameters, url.Values{
		"TemplateURL": {s.Endpoint + template}, "Capabilities.member.1": {"CAPABILITY_IAM"},
	})
}

// UpdateStack changes a stack to a template in a bucket. Parameters that are not among the changed
// ones stay as they are where the stack has them already, which is what `aws cloudformation deploy`
// does.
func (s *Server) UpdateStack(ctx context.Context, stack, template string, changed map[string]string) (map[string]string, error) {
	had, err := s.describe(ctx, stack)
	if err != nil {
		return nil, err
	}
	form := url.Values{"TemplateURL": {s.Endpoint + template}, "Capabilities.member.1": {"CAPABILITY_IAM"}}
	at := len(changed)
	for _, parameter := range had.Parameters {
		if _, is := changed[parameter.Key]; is {
			continue
		}
		at++
		form.Set(fmt.Sprintf("Parameters.member.%d.ParameterKey", at), parameter.Key)
		form.Set(fmt.Sprintf("Parameters.member.%d.UsePreviousValue", at), "true")
	}
	outputs, err := s.change(ctx, "UpdateStack", stack, changed, form)
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
		if _, err = s.Request(ctx, "lambda", http.MethodPut, path+mapping.UUID, []byte(`{"BatchSize":`+size+`}`)); err != nil {
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
	if err := s.call(ctx, cloudFormation, url.Values{"Action": {"DeleteStack"}, "StackName": {stack}}, &struct{}{}); err != nil {
		return fmt.Errorf("delete stack %s: %w", stack, err)
	}
	// A stack that is gone is known by its id alone.
	_, err = s.awaitStack(ctx, had.ID, "DELETE_COMPLETE")
	return err
}

// change makes or updates a stack, and waits until it is done.
//
// It speaks the Query protocol itself ("CreateStack", "UpdateStack" and "DescribeStacks", AWS
// CloudFormation API Reference): a few calls are no reason for one more SDK module.
func (s *Server) change(ctx context.Context, action, stack string, parameters map[string]string, form url.Values) (map[string]string, error) {
	form.Set("Action", action)
	form.Set("StackName", stack)
	for i, name := range slices.Sorted(maps.Keys(parameters)) {
		member := fmt.Sprintf("Parameters.member.%d.Parameter", i+1)
		form.Set(member+"Key", name)
		form.Set(member+"Value", parameters[name])
	}
	if err := s.call(ctx, cloudFormation, form, &struct{}{}); err != nil {
		return nil, fmt.Errorf("make the resources of stack %s: %w", stack, err)
	}
	return s.awaitStack(ctx, stack, strings.ToUpper(strings.TrimSuffix(action, "Stack"))+"_COMPLETE")
}

// awaitStack waits until nothing of a stack is in progress, and returns its outputs. It is an error
// if it is in another state then.
func (s *Server) awaitStack(ctx context.Context, stack, want string) (map[string]string, error) {
	for {
		described, err := s.describe(ctx, stack)
		if err != nil {
			return nil, err
		}
		switch {
		case described.Status == want:
			return described.outputs(), nil
		case !strings.HasSuffix(described.Status, "_IN_PROGRESS"):
			return nil, fmt.Errorf("MiniStack left stack %s in %s: %s%s", described.Name, described.Status, described.Reason, s.failed(ctx, stack))
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
	var answer struct {
		Events []struct {
			ID     string `xml:"LogicalResourceId"`
			Status string `xml:"ResourceStatus"`
			Reason string `xml:"ResourceStatusReason"`
		} `xml:"DescribeStackEventsResult>StackEvents>member"`
	}
	if err := s.call(ctx, cloudFormation, url.Values{"Action": {"DescribeStackEvents"}, "StackName": {stack}}, &answer); err != nil {
		return err.Error()
	}
	for _, e := range answer.Events {
		if strings.HasSuffix(e.Status, "_FAILED") {
			all += fmt.Sprintf("; %s: %s", e.ID, e.Reason)
		}
	}
	return all
}

// described is the part of DescribeStacks' answer about one stack that is read.
type described struct {
	ID         string `xml:"StackId"`
	Name       string `xml:"StackName"`
	Status     string `xml:"StackStatus"`
	Reason     string `xml:"StackStatusReason"`
	Parameters []struct {
		Key string `xml:"ParameterKey"`
	} `xml:"Parameters>member"`
	Outputs []struct {
		Key   string `xml:"OutputKey"`
		Value string `xml:"OutputValue"`
	} `xml:"Outputs>member"`
}

func (d described) outputs() map[string]string {
	outputs := map[string]string{}
	for _, output := range d.Outputs {
		outputs[output.Key] = output.Value
	}
	return outputs
}

// describe looks at one stack, by its name or its id.
func (s *Server) describe(ctx context.Context, stack string) (described, error) {
	var answer struct {
		Stacks []described `xml:"DescribeStacksResult>Stacks>member"`
	}
	if err := s.call(ctx, cloudFormation, url.Values{"Action": {"DescribeStacks"}, "StackName": {stack}}, &answer); err != nil {
		return described{}, fmt.Errorf("look at stack %s: %w", stack, err)
	}
	if len(answer.Stacks) != 1 {
		return described{}, fmt.Errorf("MiniStack described %d stacks, not one", len(answer.Stacks))
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
		if err := s.call(ctx, sns, url.Values{"Action": {"ListTopics"}, "NextToken": {token}}, &page); err != nil {
			return fmt.Errorf("list topics: %w", err)
		}
		for _, topic := range page.Topics {
			if !strings.HasSuffix(topic, ".fifo") {
				continue
			}
			set := url.Values{"Action": {"SetTopicAttributes"}, "TopicArn": {topic}, "AttributeName": {"FifoTopic"}, "AttributeValue": {"true"}}
			if err := s.call(ctx, sns, set, &struct{}{}); err != nil {
				return fmt.Errorf("make topic %s FIFO: %w", topic, err)
			}
		}
		if token = page.Next; token == "" {
			return nil
		}
	}
}

// service is a service with the Query protocol.
type service struct{ name, version string }

var (
	cloudFormation = service{"cloudformation", "2010-05-15"}
	sns            = service{"sns", "2010-03-31"}
)

// call makes one call of the Query protocol.
func (s *Server) call(ctx context.Context, to service, form url.Values, answer any) error {
	form.Set("Version", to.version)
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	text, err := s.send(ctx, to.name, http.MethodPost, "", header, []byte(form.Encode()))
	if err != nil {
		return err
	}
	return xml.Unmarshal(text, answer)
}
