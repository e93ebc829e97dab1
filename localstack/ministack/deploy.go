package ministack

import (
	"context"
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Deploy makes a stack of a template and returns its outputs. ctx bounds the
// wait.
func (s *Server) Deploy(ctx context.Context, stack string, template []byte) (map[string]string, error) {
	return s.DeployWith(ctx, stack, template, nil)
}

// DeployWith is Deploy with the values of the template's parameters.
//
// It speaks the Query protocol itself ("CreateStack" and "DescribeStacks", AWS
// CloudFormation API Reference): a few calls are no reason for one more SDK
// module.
func (s *Server) DeployWith(ctx context.Context, stack string, template []byte, parameters map[string]string) (map[string]string, error) {
	create := url.Values{
		"Action": {"CreateStack"}, "StackName": {stack}, "TemplateBody": {string(template)},
		"Capabilities.member.1": {"CAPABILITY_NAMED_IAM"},
	}
	for i, name := range slices.Sorted(maps.Keys(parameters)) {
		member := fmt.Sprintf("Parameters.member.%d.Parameter", i+1)
		create.Set(member+"Key", name)
		create.Set(member+"Value", parameters[name])
	}
	if err := s.call(ctx, cloudFormation, create, &struct{}{}); err != nil {
		return nil, fmt.Errorf("make the resources of stack %s: %w", stack, err)
	}
	for {
		var described description
		if err := s.call(ctx, cloudFormation, url.Values{"Action": {"DescribeStacks"}, "StackName": {stack}}, &described); err != nil {
			return nil, fmt.Errorf("look at stack %s: %w", stack, err)
		}
		outputs, done, err := described.outputs()
		if err != nil {
			return nil, err
		}
		if done {
			return outputs, s.makeFIFO(ctx)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// description is the part of DescribeStacks' answer that is read.
type description struct {
	Stacks []struct {
		Name    string `xml:"StackName"`
		Status  string `xml:"StackStatus"`
		Reason  string `xml:"StackStatusReason"`
		Outputs []struct {
			Key   string `xml:"OutputKey"`
			Value string `xml:"OutputValue"`
		} `xml:"Outputs>member"`
	} `xml:"DescribeStacksResult>Stacks>member"`
}

func (d description) outputs() (outputs map[string]string, done bool, err error) {
	if len(d.Stacks) != 1 {
		return nil, false, fmt.Errorf("MiniStack described %d stacks, not one", len(d.Stacks))
	}
	stack := d.Stacks[0]
	switch {
	case strings.HasSuffix(stack.Status, "_IN_PROGRESS"):
		return nil, false, nil
	case stack.Status != "CREATE_COMPLETE":
		return nil, false, fmt.Errorf("MiniStack left stack %s in %s: %s", stack.Name, stack.Status, stack.Reason)
	}
	outputs = map[string]string{}
	for _, output := range stack.Outputs {
		outputs[output.Key] = output.Value
	}
	return outputs, true, nil
}

// makeFIFO makes all topics FIFO that are named so: MiniStack's CloudFormation
// leaves the property FifoTopic out.
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
	request, err := http.NewRequest(http.MethodPost, s.Endpoint, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	text, err := s.Request(ctx, to.name, request, []byte(form.Encode()))
	if err != nil {
		return err
	}
	return xml.Unmarshal(text, answer)
}
