package ministack

import (
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Deploy makes a stack of a template and returns its outputs. ctx bounds the
// wait.
//
// It speaks the Query protocol itself ("CreateStack" and "DescribeStacks", AWS
// CloudFormation API Reference): a few calls are no reason for one more SDK
// module.
func (s *Server) Deploy(ctx context.Context, stack string, template []byte) (map[string]string, error) {
	create := url.Values{"Action": {"CreateStack"}, "StackName": {stack}, "TemplateBody": {string(template)}}
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

// call makes one call of the Query protocol. The credential names the service;
// its signature is not checked.
func (s *Server) call(ctx context.Context, to service, form url.Values, answer any) error {
	form.Set("Version", to.version)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.Endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/"+to.name+"/aws4_request, SignedHeaders=host, Signature=0")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("MiniStack answered %s: %s", response.Status, text)
	}
	return xml.Unmarshal(text, answer)
}
