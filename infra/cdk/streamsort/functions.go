package streamsort

import (
	"cmp"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"

	"github.com/streamsort/streamsort/internal/consumers"
	"github.com/streamsort/streamsort/internal/egress"
	"github.com/streamsort/streamsort/internal/endpoint"
	"github.com/streamsort/streamsort/internal/quota"
	"github.com/streamsort/streamsort/internal/sink/s3"
)

// function is what differs from one function to the next.
type function struct {
	name        string // its folder under functions/
	id          string // its logical id is <id>Function
	description string
	takes       FunctionProps
	environment map[string]string
	access      []awsiam.PolicyStatement
	files       map[string]string // what is beside its program, by name
	quotas      bool              // it counts what tenants take
}

func (s *Streamsort) addFunctions() error {
	p := s.props
	readers, err := readersText(s.consumers)
	if err != nil {
		return err
	}
	s.EnqueueFunction = s.newFunction(function{
		name: "enqueue", id: "Enqueue", description: "Takes messages in any order",
		takes: p.Functions["enqueue"],
		environment: map[string]string{"STREAMSORT_EVENTS": p.Events,
			tenantClaimVariable: p.TenantClaim},
		access: s.enqueueAccess(), quotas: true,
	})
	s.put = s.newAlias("EnqueuePutAlias", putAlias,
		"What event sources and producers call: it puts, and does nothing else", s.EnqueueFunction)
	s.SortFunction = s.newFunction(function{
		name: "sort", id: "Sort", description: "Moves the cursors over what was stored",
		takes:  p.Functions["sort"],
		access: s.sortAccess(),
	})
	s.SweepFunction = s.newFunction(function{
		name: "sweep", id: "Sweep", description: "Heals queues, announces gaps, keeps waiting messages",
		takes: p.Functions["sweep"],
		environment: merged(s.consumersEnvironment(), s.trackEnvironment(), s.announceEnvironment(),
			map[string]string{
				"STREAMSORT_FULL_SWEEP_EVERY": text(p.FullSweepEvery),
				"STREAMSORT_SWEEP_SEGMENTS":   strconv.Itoa(p.SweepSegments),
				"STREAMSORT_SWEEP_EVERY":      text(p.SweepInterval),
				"STREAMSORT_LAG_AFTER":        text(p.LagAfter),
				"STREAMSORT_SETTLE_WITHIN":    text(p.SettleWithin),
				readersVariable:               readers,
				"STREAMSORT_DELETE_DELIVERED": strconv.FormatBool(p.DeleteDelivered),
				tenantClaimVariable:           p.TenantClaim, // of each it writes what alarms watch
			}),
		access: s.sweepAccess(),
	})
	s.DeliveryFunction = s.newFunction(function{
		name: "delivery", id: "Delivery", description: "Shows and operates consumers",
		takes: p.Functions["delivery"],
		environment: merged(s.consumersEnvironment(), p.reachEnvironment(),
			map[string]string{tenantClaimVariable: p.TenantClaim}),
		access: s.deliveryAccess(), quotas: true,
	})
	s.AckFunction = s.newFunction(function{
		name: "ack", id: "Ack", description: "Tells when trees of work are done",
		takes: p.Functions["ack"],
		environment: merged(s.trackEnvironment(), s.consumersEnvironment(), s.announceEnvironment(),
			map[string]string{tenantClaimVariable: p.TenantClaim}),
		access: s.ackAccess(), quotas: true,
	})
	if err := errors.Join(s.addProcess(), s.addWebhook(), s.failed); err != nil {
		return err
	}
	s.addEager()
	return nil
}

func (s *Streamsort) trackEnvironment() map[string]string {
	return map[string]string{
		"STREAMSORT_CHAINS_TABLE": *s.ChainsTable.TableName(),
		"STREAMSORT_TOMBSTONE":    text(s.props.Tombstone),
	}
}

func (s *Streamsort) announceEnvironment() map[string]string {
	return map[string]string{
		"STREAMSORT_EVENT_BUS":         *s.props.EventBus,
		"STREAMSORT_ANNOUNCE_TOPIC":    *s.props.AnnounceTopic,
		"STREAMSORT_ANNOUNCE_FUNCTION": *s.props.AnnounceFunction,
	}
}

func (s *Streamsort) addProcess() error {
	p := s.props
	if !slices.ContainsFunc(p.Consumers, func(c Consumer) bool { return c.Sink != nil }) {
		return nil
	}
	configured, files, err := s.configureProcess()
	if err != nil {
		return err
	}
	environment := configured
	if tracks(p.Consumers) {
		environment = merged(environment, s.trackEnvironment())
	}
	s.ProcessFunction = s.newFunction(function{
		name: "process", id: "Process", description: "Delivers messages, in order",
		takes:       p.Functions["process"],
		environment: environment,
		access:      s.processAccess(),
		files:       files,
	})
	s.addSlow(configured, files)
	return nil
}

// slowCallAge is how old a call of ProcessSlow may get: Lambda repeats one a minute later whose
// process died, and later the sweep has come to the queue, and asked for another.
const slowCallAge = 3 * time.Minute

// addSlow makes ProcessSlow, which is process once more, where queues have endpoints of their own:
// it delivers what would hold up others. delivery knows then whose endpoints there may be. A call
// that failed is repeated once, and one that could not be made in time is not: such calls do not
// pile up, and the sweep comes to their queues.
func (s *Streamsort) addSlow(environment, files map[string]string) {
	p := s.props
	names := withEndpoints(p.Consumers)
	if len(names) == 0 {
		return
	}
	s.DeliveryFunction.AddEnvironment(jsii.String(endpoint.ConsumersVariable),
		jsii.String(strings.Join(names, ",")), nil)
	if s.SlowFunction != nil {
		return
	}
	takes := p.Functions["process"]
	takes.Concurrency = p.Functions["slow"].Concurrency
	s.SlowFunction = s.newFunction(function{
		name: "process", id: "ProcessSlow", description: "Delivers what would hold up others",
		takes: takes,
		environment: merged(environment,
			map[string]string{consumers.ShareVariable: strconv.Itoa(p.SlowShare)}),
		access: s.slowAccess(), files: files,
	})
	boundCalls(s.scope, "ProcessSlowCalls", s.live[s.SlowFunction], slowCallAge, 1, nil)
	live := s.liveARN(s.SlowFunction)
	s.ProcessFunction.AddEnvironment(jsii.String(consumers.SlowVariable), live, nil)
	// It is not in the role's own policy, where the CDK would join it with what sinks need.
	awsiam.NewPolicy(s.scope, jsii.String("ProcessCallsSlow"), &awsiam.PolicyProps{
		Roles:      &[]awsiam.IRole{s.ProcessFunction.Role()},
		Statements: &[]awsiam.PolicyStatement{allow([]string{"lambda:InvokeFunction"}, live)},
	})
}

// reachEnvironment is where replies may go, which endpoints may be asked besides public ones, and
// which are never asked.
func (p Props) reachEnvironment() map[string]string {
	return map[string]string{egress.AllowVariable: p.HTTPAllow, egress.DenyVariable: p.HTTPDeny,
		"STREAMSORT_KNOWN_QUEUES": either(p.KnownQueues, "true", "")}
}

// configureProcess is what process is configured by: its environment, of which some is known after
// the deployment only, and the file beside its program.
func (s *Streamsort) configureProcess() (environment, files map[string]string, err error) {
	text, environment, err := consumersFile(s.props.Consumers)
	environment = merged(environment, s.consumersEnvironment(), s.props.reachEnvironment())
	return environment, map[string]string{consumers.File: text}, err
}

// pack makes a folder with a function's program and more files beside it.
func pack(binary string, files map[string]string) (folder string, err error) {
	if folder, err = os.MkdirTemp("", "streamsort-"); err != nil {
		return "", err
	}
	if err = os.CopyFS(folder, os.DirFS(binary)); err != nil {
		return folder, err
	}
	for name, text := range files {
		if err = os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			return folder, err
		}
	}
	return folder, os.Chmod(filepath.Join(folder, "bootstrap"), 0o755)
}

func merged(all ...map[string]string) map[string]string {
	sum := map[string]string{}
	for _, m := range all {
		maps.Copy(sum, m)
	}
	return sum
}

func (s *Streamsort) consumersEnvironment() map[string]string {
	return map[string]string{
		"STREAMSORT_CONSUMERS_TABLE": *s.ConsumersTable.TableName(),
		"STREAMSORT_AUDIT_TABLE":     *s.AuditTable.TableName(),
	}
}

// readersVariable says to the sweep who reads what.
const readersVariable = "STREAMSORT_READERS"

// newFunction makes a function with a log group and a role of its own.
func (s *Streamsort) newFunction(f function) awslambda.Function {
	if f.quotas && s.quotas != nil {
		f.environment = merged(f.environment, map[string]string{"STREAMSORT_QUOTAS": "true"})
		takes := under(on(s.TroubleTable, "UpdateItem"), "StringLike", quota.Keys+"*")
		f.access, f.files = append(f.access, takes), merged(f.files, s.quotas)
	}
	p, logs := s.props, s.newLogGroup(f.id+"Logs")
	role := awsiam.NewRole(s.scope, jsii.String(f.id+"Role"), &awsiam.RoleProps{
		AssumedBy: awsiam.NewServicePrincipal(jsii.String("lambda.amazonaws.com"), nil),
	})
	s.nameResource(role, f.id+"Role")
	role.AddToPolicy(allow([]string{"logs:CreateLogStream", "logs:PutLogEvents"}, logs.LogGroupArn()))
	for _, statement := range slices.Concat(f.access, s.sendWakeUps(),
		s.useKey(s.keyServices(f.id)...), s.attach()) {
		role.AddToPolicy(statement)
	}
	code := filepath.Join(s.props.Binaries, f.name)
	if f.files != nil {
		folder, err := pack(code, f.files)
		defer func() { _ = os.RemoveAll(folder) }() // the CDK copies it while it makes the function
		if s.failed = errors.Join(s.failed, err); err == nil {
			code = folder
		}
	}
	made := awslambda.NewFunction(s.scope, jsii.String(f.id+"Function"), &awslambda.FunctionProps{
		Description: &f.description,
		Runtime:     awslambda.Runtime_PROVIDED_AL2023(),
		Architecture: either(p.Architecture == AMD64, awslambda.Architecture_X86_64(),
			awslambda.Architecture_ARM_64()),
		Handler:                      jsii.String("bootstrap"),
		Code:                         awslambda.Code_FromAsset(&code, nil),
		MemorySize:                   jsii.Number(f.takes.Memory),
		Timeout:                      seconds(cmp.Or(f.takes.Timeout, sweepTimeout)),
		ReservedConcurrentExecutions: unlessZero(f.takes.Concurrency),
		Environment:                  s.environment(f.environment),
		Role:                         role,
		Tracing: either(*p.Tracing, awslambda.Tracing_ACTIVE,
			awslambda.Tracing_DISABLED),
		LogGroup:      logs,
		LoggingFormat: awslambda.LoggingFormat_JSON,
		// Metrics are printed as lines of JSON without a level, which count as INFO: a higher level
		// here would drop them.
		ApplicationLogLevelV2: awslambda.ApplicationLogLevel_INFO,
		// A higher level leaves out Lambda's lines about calls that go well, START and REPORT, which
		// are most of what such a call would log.
		SystemLogLevelV2: either(*p.LogSuccesses == allSuccesses, awslambda.SystemLogLevel_INFO,
			awslambda.SystemLogLevel_WARN),
		CurrentVersionOptions: &awslambda.VersionOptions{RemovalPolicy: awscdk.RemovalPolicy_RETAIN},
	})
	resource := s.nameResource(made, f.id+"Function")
	if vpc := s.props.VPC; vpc.Subnets != "" {
		resource.(awslambda.CfnFunction).SetVpcConfig(&awslambda.CfnFunction_VpcConfigProperty{
			SubnetIds:        jsii.Strings(strings.Split(vpc.Subnets, ",")...),
			SecurityGroupIds: jsii.Strings(strings.Split(vpc.SecurityGroups, ",")...),
		})
	}
	resource.AddMetadata(jsii.String(sourceKey), functionsPath+f.name)
	if f.files != nil {
		resource.AddMetadata(jsii.String("streamsort:files"), f.files)
	}

	// Older versions stay, so that the alias can be put back.
	s.live[made] = s.newAlias(f.id+"Alias", alias,
		"What is called: the version that was deployed last", made)
	policy := role.Node().FindChild(jsii.String("DefaultPolicy"))
	s.nameResource(policy, f.id+"Policy")
	s.excuse(made, f.name == "process" || f.name == "sweep")
	return made
}

// attach: what Lambda does to have a function in a VPC, in a statement of its own.
func (s *Streamsort) attach() []awsiam.PolicyStatement {
	if s.props.VPC.Subnets == "" {
		return nil
	}
	statement := allow([]string{
		"ec2:AssignPrivateIpAddresses", "ec2:CreateNetworkInterface", "ec2:DeleteNetworkInterface",
		"ec2:DescribeNetworkInterfaces", "ec2:DescribeSubnets", "ec2:UnassignPrivateIpAddresses",
	}, jsii.String("*"))
	statement.SetSid(jsii.String("Vpc"))
	return []awsiam.PolicyStatement{statement}
}

var anyResource = suppression{
	rule: "AwsSolutions-IAM5", appliesTo: []any{"Resource::*"},
	reason: "ec2's actions on network interfaces, by which Lambda reaches a VPC, and X-Ray's take no resource: " +
		"AWS has none narrower than *.",
}

func (s *Streamsort) excuse(f awslambda.Function, archives bool) {
	var all []suppression
	if *s.props.Tracing || s.props.VPC.Subnets != "" {
		all = append(all, anyResource)
	}
	for _, c := range s.props.Consumers {
		if archives && c.isArchive() {
			all = append(all, suppression{
				rule:      "AwsSolutions-IAM5",
				appliesTo: []any{map[string]any{"regex": "/^Resource::.*/" + s3.Folder(c.Name) + "\\*$/"}},
				reason:    "The objects of an archive have a folder of their own, and new names.",
			})
		}
	}
	if all != nil {
		suppress(policyOf(f), all...)
	}
}

func policyOf(f awslambda.Function) awscdk.CfnResource {
	policy := f.Role().Node().FindChild(jsii.String("DefaultPolicy"))
	return policy.Node().DefaultChild().(awscdk.CfnResource)
}

// environment is what every function gets, and what only this one gets. A variable without a value
// is left out: it means the same.
func (s *Streamsort) environment(own map[string]string) *map[string]*string {
	p := s.props
	all := map[string]string{
		"STREAMSORT_MESSAGES_TABLE": *s.MessagesTable.TableName(),
		"STREAMSORT_CURSORS_TABLE":  *s.CursorsTable.TableName(),
		"STREAMSORT_TROUBLE_TABLE":  *s.TroubleTable.TableName(),
		"STREAMSORT_ARRIVALS_TABLE": *s.ArrivalsTable.TableName(),
		"STREAMSORT_RETENTION":      text(*p.Retention),
		timerVariable:               *s.TimerQueue.QueueUrl(),
		// Two stacks in one account are distinguished in the metrics by this.
		"POWERTOOLS_SERVICE_NAME":      s.service(),
		"POWERTOOLS_METRICS_NAMESPACE": metricsNamespace,
		// What they log of calls that go well.
		"STREAMSORT_LOG_SUCCESSES": strconv.Itoa(*p.LogSuccesses),
		"STREAMSORT_LOG_QUEUE":     p.LogQueue, "STREAMSORT_LOG_UNTIL": p.LogUntil,
	}
	environment := map[string]*string{}
	for name, value := range merged(all, p.queueVariables(), own) {
		if value != "" {
			environment[name] = &value
		}
	}
	return &environment
}

const metricsNamespace = "Streamsort"

func (s *Streamsort) service() string { return strings.ToLower(s.id) }

func seconds(d time.Duration) awscdk.Duration {
	return awscdk.Duration_Seconds(jsii.Number(d.Seconds()))
}

// unlessZero is a number for the CDK: nil for 0.
func unlessZero(n int) *float64 {
	if n == 0 {
		return nil
	}
	return jsii.Number(n)
}
