package main

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	watch "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
)

// What a stack's resources are called that the doctor looks at.
const (
	mappingResource = "AWS::Lambda::EventSourceMapping"
	alarmResource   = "AWS::CloudWatch::Alarm"

	functionResource = "AWS::Lambda::Function"
	// webhookFunction ends the logical id of the function that takes webhooks.
	webhookFunction = "WebhookFunction"
)

// aws is look at a service of the stack's.
func (d *doctor) aws(check, service string, make func(ctx context.Context, at aws.Config) error) {
	where, err := d.service(service)
	if err != nil {
		d.say(check, unknown, "%v", err)
		return
	}
	at := aws.Config{Region: where.Region, Credentials: where.Credentials,
		BaseEndpoint: where.Endpoint}
	d.look(check, at, make)
}

// look has a check made, which has some seconds. The check is unknown where it cannot be.
func (d *doctor) look(check string, at aws.Config,
	make func(ctx context.Context, at aws.Config) error) {
	ctx, cancel := context.WithTimeout(d.ctx, longestLook)
	defer cancel()
	if err := make(ctx, at); err != nil {
		d.say(check, unknown, "%v", err)
	}
}

// deployment looks at what a stack of CloudFormation has beside its tables: whether its functions
// are called, and which of its alarms are on. The context knows the stack.
func (d *doctor) deployment() {
	if d.Stack == "" {
		d.say("stack", well, "mappings and alarms are not looked at: no context with a stack of CloudFormation is in use")
		return
	}
	var has map[string][]string
	d.aws("stack", "CLOUDFORMATION", func(ctx context.Context, at aws.Config) (err error) {
		if has, err = d.resources(ctx, at); err != nil {
			err = fmt.Errorf("mappings and alarms: %w", err)
		}
		return err
	})
	if has == nil {
		return
	}
	for _, id := range has[mappingResource] {
		d.aws("mapping", "LAMBDA", func(ctx context.Context, at aws.Config) error {
			return d.mapping(ctx, at, id)
		})
	}
	for _, name := range has[webhookFunction] {
		d.aws(secretsCheck, "LAMBDA", func(ctx context.Context, at aws.Config) error {
			return d.secrets(ctx, at, name)
		})
	}
	d.aws("alarms", "CLOUDWATCH", func(ctx context.Context, at aws.Config) error {
		return d.alarms(ctx, at, has[alarmResource])
	})
	d.aws("functions", "CLOUDWATCH", func(ctx context.Context, at aws.Config) error {
		return d.functionErrors(ctx, at, has[functionResource])
	})
}

// The most that CloudWatch can be asked for at once: each function is two metrics.
const alarmsAsked, functionsAsked = 100, 250

// errorsWithin is how far back errors of functions are counted.
const errorsWithin = time.Hour

// functionErrors counts the errors of a stack's functions, as Lambda's metrics have them. One in
// 100 invocations may be.
func (d *doctor) functionErrors(ctx context.Context, at aws.Config, names []string) error {
	calls, fail := 0.0, false
	for some := range slices.Chunk(names, functionsAsked) {
		counts, err := invocations(ctx, cloudwatch.NewFromConfig(at), some)
		if err != nil {
			return err
		}
		for i, name := range some {
			invoked, failed := counts[i][0], counts[i][1]
			if calls += invoked; failed == 0 {
				continue
			}
			fail = true
			how := well
			switch {
			case failed >= invoked:
				how = critical
			case failed*100 >= invoked:
				how = warning
			}
			d.function(name, how, "%.0f of %.0f invocations failed in the last hour; `aws logs tail /aws/lambda/%s` has why",
				failed, invoked, name)
		}
	}
	if !fail {
		d.say("functions", well, "none of the %.0f invocations of %s in the last hour failed",
			calls, count(len(names), "function", "functions"))
	}
	return nil
}

func invocations(ctx context.Context, client *cloudwatch.Client,
	names []string) ([][2]float64, error) {
	counts := make([][2]float64, len(names))
	input := cloudwatch.GetMetricDataInput{StartTime: aws.Time(time.Now().Add(-errorsWithin)),
		EndTime: aws.Time(time.Now())}
	for i, name := range names {
		for j, metric := range []string{"Invocations", "Errors"} {
			input.MetricDataQueries = append(input.MetricDataQueries, watch.MetricDataQuery{
				Id: aws.String(fmt.Sprintf("m%d_%d", i, j)),
				MetricStat: &watch.MetricStat{
					Period: aws.Int32(int32(errorsWithin / time.Second)), Stat: aws.String("Sum"),
					Metric: &watch.Metric{
						Namespace: aws.String("AWS/Lambda"), MetricName: &metric,
						Dimensions: []watch.Dimension{{Name: aws.String("FunctionName"), Value: &name}},
					},
				},
			})
		}
	}
	for {
		page, err := client.GetMetricData(ctx, &input)
		if err != nil {
			return nil, err
		}
		for _, r := range page.MetricDataResults {
			var i, j int
			if _, err := fmt.Sscanf(aws.ToString(r.Id), "m%d_%d", &i, &j); err != nil ||
				i >= len(counts) || j > 1 {
				continue
			}
			for _, value := range r.Values {
				counts[i][j] += value
			}
		}
		if input.NextToken = page.NextToken; aws.ToString(page.NextToken) == "" {
			return counts, nil
		}
	}
}

// resources are the names of the stack's resources, by their types; and of the function that takes
// webhooks.
func (d *doctor) resources(ctx context.Context, at aws.Config) (map[string][]string, error) {
	client := cloudformation.NewFromConfig(at)
	names := map[string][]string{}
	// Without the SDK's paginator: an interface of it would keep all of the client's operations in
	// the program, 4 MB.
	for input := (cloudformation.ListStackResourcesInput{StackName: &d.Stack}); ; {
		page, err := client.ListStackResources(ctx, &input)
		if err != nil {
			return nil, err
		}
		for _, r := range page.StackResourceSummaries {
			kind := aws.ToString(r.ResourceType)
			names[kind] = append(names[kind], aws.ToString(r.PhysicalResourceId))
			if kind == functionResource &&
				strings.HasSuffix(aws.ToString(r.LogicalResourceId), webhookFunction) {
				names[webhookFunction] = append(names[webhookFunction], aws.ToString(r.PhysicalResourceId))
			}
		}
		if input.NextToken = page.NextToken; aws.ToString(page.NextToken) == "" {
			return names, nil
		}
	}
}

// mapping looks whether what comes from a stream or a queue reaches its function.
func (d *doctor) mapping(ctx context.Context, at aws.Config, id string) error {
	is, err := lambda.NewFromConfig(at).GetEventSourceMapping(ctx,
		&lambda.GetEventSourceMappingInput{UUID: &id})
	if err != nil {
		return fmt.Errorf("%s: %w", id, err)
	}
	check := "mapping of " + functionIn(aws.ToString(is.FunctionArn))
	state, result := aws.ToString(is.State), aws.ToString(is.LastProcessingResult)
	switch {
	case state == "Disabled" || state == "Disabling":
		d.say(check, critical, "is %s: what %s has is not handled; enable %s", state,
			aws.ToString(is.EventSourceArn), id)
	case strings.HasPrefix(result, "PROBLEM"):
		d.say(check, warning, "is %s, and its last result is %s", state, result)
	default:
		d.say(check, well, "is %s", state)
	}
	return nil
}

const secretsCheck = "secrets of webhooks"

// secrets asks the function that takes webhooks whether it has the secrets of its senders, and can
// use them. One that cannot start says so in its log.
func (d *doctor) secrets(ctx context.Context, at aws.Config, function string) error {
	answer, err := lambda.NewFromConfig(at).Invoke(ctx, &lambda.InvokeInput{
		FunctionName: &function, Qualifier: aws.String("live"), LogType: lambdatypes.LogTypeTail,
		Payload: []byte(`{"operation":"secrets"}`),
	})
	var found struct {
		Sources []struct{ Source, Problem string }
	}
	if err == nil && answer.FunctionError != nil {
		log, _ := base64.StdEncoding.DecodeString(aws.ToString(answer.LogResult))
		d.say(secretsCheck, critical, "%s does not start: %s", function, cannotStart(string(log)))
		return nil
	}
	if err == nil {
		err = json.Unmarshal(answer.Payload, &found)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", function, err)
	}
	usable := true
	for _, sender := range found.Sources {
		if sender.Problem != "" {
			usable = false
			d.say("secret of "+sender.Source, critical, "%s: its deliveries are not taken", sender.Problem)
		}
	}
	if usable {
		d.say(secretsCheck, well, "those of %d senders can be used", len(found.Sources))
	}
	return nil
}

// cannotStart is the line of a log that says why a function does not start; or the whole.
func cannotStart(log string) string {
	for line := range strings.Lines(log) {
		var entry struct{ Message, Error string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Message == "cannot start" {
			return entry.Error
		}
	}
	return strings.TrimSpace(log)
}

// functionIn is the name of the function in an ARN: arn:aws:lambda:REGION:ACCOUNT:function:NAME,
// and perhaps :ALIAS.
func functionIn(arn string) string {
	if parts := strings.Split(arn, ":"); len(parts) > 6 {
		return parts[6]
	}
	return arn
}

func (d *doctor) alarms(ctx context.Context, at aws.Config, names []string) error {
	on := false
	for some := range slices.Chunk(names, alarmsAsked) {
		found, err := cloudwatch.NewFromConfig(at).DescribeAlarms(ctx,
			&cloudwatch.DescribeAlarmsInput{AlarmNames: some})
		if err != nil {
			return err
		}
		for _, alarm := range found.MetricAlarms {
			if alarm.StateValue == watch.StateValueAlarm {
				on = true
				d.say("alarm "+aws.ToString(alarm.AlarmName), warning, "is on: %s",
					cmp.Or(aws.ToString(alarm.AlarmDescription), aws.ToString(alarm.StateReason)))
			}
		}
	}
	if !on {
		d.say("alarms", well, "none of %d is on", len(names))
	}
	return nil
}
