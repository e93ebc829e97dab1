package streamsort

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3assets"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/streamsort/streamsort/internal/sink/s3"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// AddSink has process deliver every queue's messages to more consumers, each with a Sink or a To:
// as if they had been in Props.Consumers. process is made where there was none, with its mapping,
// its alarms and its lines on the dashboard, and so is ProcessSlow.
//
// Name all consumers in one call where you can: each call packs the program with a configuration of
// its own, and all of them are uploaded.
//
// The error says which consumer is unsuitable and what to write instead, and nothing has been
// changed then. It is one where two functions read the cursors' stream already, and process is not
// among them.
func (s *Streamsort) AddSink(more ...Consumer) error {
	more, err := aim(more)
	if err != nil {
		return err
	}
	for _, c := range more {
		if c.Sink == nil {
			return fmt.Errorf("consumer %q has no sink; set To to a function, a FIFO queue, a FIFO topic, an event bus or a bucket, "+
				"or let a function of your own read under that name (AddConsumer)", c.Name)
		}
		if err := s.props.mayAsk(c); err != nil {
			return err
		}
	}
	if s.ProcessFunction == nil && s.readers == maxReaders {
		return fmt.Errorf("consumer %q needs process, and two functions read the cursors' stream, which is all it can have; "+
			"let process deliver to one of them (AddSink with To)", more[0].Name)
	}
	if _, _, err := consumersFile(slices.Concat(s.props.Consumers, more)); err != nil {
		return err
	}
	if _, err := processName(s.props.Tables, more); err != nil {
		return err
	}
	more = s.shelve(more)
	if err := s.addReaders(more); err != nil {
		return err
	}
	for _, statement := range eraseArchives(more) {
		s.SweepFunction.AddToRolePolicy(statement)
	}
	s.props.Consumers = slices.Concat(s.props.Consumers, more)
	s.excuse(s.SweepFunction, true)
	before := s.functions()
	if s.ProcessFunction != nil {
		err = s.repackProcess(more)
	} else if err = s.addProcess(); err == nil {
		s.addProcessMapping()
		for _, a := range streamAlarms(named{"Process", s.ProcessFunction}) {
			s.addAlarm(a)
		}
	}
	if err = errors.Join(err, s.failed); err != nil {
		return err
	}
	s.addEager()
	for _, f := range s.functions() {
		if slices.Contains(before, f) {
			continue
		}
		for _, a := range callAlarms(f) {
			s.addAlarm(a)
		}
		s.addShift(f.name, s.live[f.function])
	}
	s.dashboard.SetDashboardBody(s.dashboardBody())
	s.pointQueries()
	return nil
}

// addReaders makes more consumers known to the sweep. Their names must be new.
func (s *Streamsort) addReaders(more []Consumer) error {
	joined := slices.Clone(s.consumers)
	for _, c := range more {
		if err := delivery.ValidateConsumer(c.Name); err != nil {
			return fmt.Errorf("consumer %q: %w", c.Name, err)
		}
		if slices.ContainsFunc(joined, func(other Consumer) bool { return other.Name == c.Name }) {
			return fmt.Errorf("consumer %q is there already; each keeps its place under a name of its own",
				c.Name)
		}
		joined = append(joined, c)
	}
	text, err := readersText(joined)
	if err != nil {
		return err
	}
	s.consumers = joined
	if text != "" {
		s.SweepFunction.AddEnvironment(jsii.String(readersVariable), &text, nil)
	}
	return nil
}

// repackProcess gives process the consumers that it has now, of which some are new.
func (s *Streamsort) repackProcess(more []Consumer) error {
	environment, files, err := s.configureProcess()
	if err != nil {
		return err
	}
	folder, err := pack(filepath.Join(s.props.Binaries, "process"), files)
	defer func() { _ = os.RemoveAll(folder) }()
	if err != nil {
		return err
	}
	s.packs++
	asset := awss3assets.NewAsset(s.scope, jsii.String(fmt.Sprintf("ProcessCode%d", s.packs)),
		&awss3assets.AssetProps{Path: &folder})
	for _, f := range deployed(named{"Process", s.ProcessFunction},
		named{"ProcessSlow", s.SlowFunction}) {
		resource := f.function.Node().DefaultChild().(awslambda.CfnFunction)
		resource.SetCode(&awslambda.CfnFunction_CodeProperty{S3Bucket: asset.S3BucketName(),
			S3Key: asset.S3ObjectKey()})
		asset.AddResourceMetadata(resource, jsii.String("Code"))
		resource.AddMetadata(jsii.String("streamsort:files"), files)
		for name, value := range environment {
			if value != "" {
				f.function.AddEnvironment(&name, &value, nil)
			}
		}
	}
	for _, statement := range toSinks(more) {
		s.ProcessFunction.AddToRolePolicy(statement)
	}
	s.addSlow(environment, files)
	s.excuse(s.ProcessFunction, true)
	return nil
}

// aim gives each consumer with a To the Sink that it is.
func aim(all []Consumer) ([]Consumer, error) {
	aimed := slices.Clone(all)
	var errs []error
	for i, c := range all {
		if c.To == nil {
			continue
		}
		to := Sink{}
		if c.Sink != nil {
			to = *c.Sink
		}
		if to.Kind != "" || to.ARN != nil {
			errs = append(errs,
				fmt.Errorf("consumer %q has To, and a kind or an ARN in Sink; write one of them", c.Name))
			continue
		}
		if err := to.aim(c.To); err != nil {
			errs = append(errs, fmt.Errorf("consumer %q goes to %s, %w", c.Name, *c.To.Node().Path(), err))
			continue
		}
		aimed[i].Sink = &to
	}
	return aimed, errors.Join(errs...)
}

func isTrue(value *bool) bool { return value != nil && *value }

// aim says what a construct is as a sink, or why it cannot be one.
func (to *Sink) aim(construct constructs.IConstruct) error {
	var key awskms.IKey
	switch construct := construct.(type) {
	case awslambda.IFunction:
		to.Kind, to.ARN = "lambda", construct.FunctionArn()
	case awssqs.IQueue:
		if !isTrue(construct.Fifo()) {
			return errors.New("which is not FIFO and keeps no order; write Fifo: jsii.Bool(true) in its awssqs.QueueProps")
		}
		to.Kind, to.ARN, key = "sqs", construct.QueueArn(), construct.EncryptionMasterKey()
	case awssns.ITopic:
		if !isTrue(construct.Fifo()) {
			return errors.New("which is not FIFO and keeps no order; write Fifo: jsii.Bool(true) in its awssns.TopicProps")
		}
		to.Kind, to.ARN, key = "sns", construct.TopicArn(), construct.MasterKey()
	case awsevents.IEventBus:
		to.Kind, to.ARN = "eventbridge", construct.EventBusArn()
	case awss3.IBucket:
		to.Kind, to.ARN, key = s3.Name, construct.BucketArn(), construct.EncryptionKey()
	default:
		return fmt.Errorf("which is no sink but a %T; write a Lambda function, a FIFO queue, a FIFO topic, an event bus or a bucket, "+
			"or put a function before it", construct)
	}
	if key != nil {
		to.Key = key.KeyArn()
	}
	return nil
}
