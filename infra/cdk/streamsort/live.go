package streamsort

import (
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscodedeploy"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/interfaces/interfacesawscloudwatch"
	"github.com/aws/jsii-runtime-go"
)

// alias is the name under which everybody calls a function: a version that does not change any
// more. Each deployment that changes a function publishes the next one and moves the alias to it.
//
// An event source mapping names the alias, and so is never changed by it: there is one for a stream
// at all times, it keeps its place in the stream, and calls of one batch go to one version. A
// mapping for each version would deliver every record twice while there are two.
const alias = "live"

// putAlias is the second name of enqueue, on the same version: a call by it puts, and does nothing
// else, whatever it is called with. It is for event sources, whose events others write, and for
// producers.
const putAlias = "put"

func (s *Streamsort) newAlias(id, name, description string,
	function awslambda.Function) awslambda.Alias {
	made := awslambda.NewAlias(s.scope, &id, &awslambda.AliasProps{
		AliasName: &name, Version: function.CurrentVersion(), Description: &description,
	})
	s.nameResource(made, id)
	return made
}

// liveARN is what calls of a function name.
func (s *Streamsort) liveARN(function awslambda.Function) *string {
	return s.live[function].AliasRef().AliasArn
}

func (s *Streamsort) permit(id, service string, function awslambda.Function, source *string) {
	awslambda.NewCfnPermission(s.scope, jsii.String(id+"Permission"), &awslambda.CfnPermissionProps{
		Action:       jsii.String("lambda:InvokeFunction"),
		FunctionName: s.liveARN(function),
		Principal:    jsii.String(service + ".amazonaws.com"),
		SourceArn:    source,
	})
}

// liveName is a function's name as calls of it write it; nil without one.
func (s *Streamsort) liveName(function awslambda.Function) *string {
	if function == nil {
		return nil
	}
	return qualified(function, alias)
}

func qualified(function awslambda.Function, alias string) *string {
	return awscdk.Fn_Join(jsii.String(":"), &[]*string{function.FunctionName(), &alias})
}

// rollbackAlarm says that what was deployed last fails. It is quick, and looks at calls of one
// alias alone; CodeDeploy goes back by it, where Props.Shift has it, and people do otherwise.
func rollbackAlarm(name string, function awslambda.Function, alias string) alarm {
	a := recurring(name+"RollbackAlarm", "RollbackAlarm",
		"Calls of the version that was deployed last fail",
		metric{"AWS/Lambda", "Errors", []dimension{
			{"Resource", qualified(function, alias)}, {"FunctionName", function.FunctionName()},
		}})
	a.period = time.Minute
	return a
}

// shifts are CodeDeploy's ways to move calls from a version to the next.
var shifts = []string{
	"Canary10Percent5Minutes", "Canary10Percent10Minutes", "Canary10Percent15Minutes", "Canary10Percent30Minutes",
	"Linear10PercentEvery1Minute", "Linear10PercentEvery2Minutes", "Linear10PercentEvery3Minutes",
	"Linear10PercentEvery10Minutes", "AllAtOnce",
}

// addShifts has CodeDeploy move the aliases, where that is wanted.
func (s *Streamsort) addShifts() {
	if s.props.Shift == "" {
		return
	}
	role := awsiam.NewRole(s.scope, jsii.String("ShiftRole"), &awsiam.RoleProps{
		AssumedBy: awsiam.NewServicePrincipal(jsii.String("codedeploy.amazonaws.com"), nil),
		ManagedPolicies: &[]awsiam.IManagedPolicy{awsiam.ManagedPolicy_FromAwsManagedPolicyName(
			jsii.String("service-role/AWSCodeDeployRoleForLambdaLimited"))},
	})
	suppress(s.nameResource(role, "ShiftRole"), suppression{
		rule: "AwsSolutions-IAM4", appliesTo: []any{"Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSCodeDeployRoleForLambdaLimited"},
		reason: "It is AWS's own policy for CodeDeploy's work on Lambda aliases, the narrower of two, and grows with CodeDeploy.",
	})
	application := awscodedeploy.NewLambdaApplication(s.scope, jsii.String("Shifts"), nil)
	s.nameResource(application, "Shifts")
	s.shiftRole, s.shifts = role, application
	for _, f := range s.functions() {
		s.addShift(f.name, s.live[f.function])
	}
	s.addShift(enqueuePut, s.put)
	if s.url != nil {
		s.addShift(enqueueURL, s.urlAlias)
	}
}

// enqueuePut begins the names of what watches and moves the alias put.
const enqueuePut = "EnqueuePut"

func (s *Streamsort) addShift(name string, alias awslambda.Alias) {
	if s.shifts == nil {
		return
	}
	group := awscodedeploy.NewLambdaDeploymentGroup(s.scope, jsii.String(name+"Shift"),
		&awscodedeploy.LambdaDeploymentGroupProps{
			Application: s.shifts, Role: s.shiftRole, Alias: alias,
			DeploymentConfig: awscodedeploy.LambdaDeploymentConfig_FromLambdaDeploymentConfigName(s.scope,
				jsii.String(name+"ShiftConfig"), jsii.String("CodeDeployDefault.Lambda"+s.props.Shift)),
			Alarms: &[]interfacesawscloudwatch.IAlarmRef{s.alarms[name+"RollbackAlarm"]},
			// A shift that is stopped by hand goes back, too.
			AutoRollback: &awscodedeploy.AutoRollbackConfig{
				FailedDeployment: jsii.Bool(true), StoppedDeployment: jsii.Bool(true),
				DeploymentInAlarm: jsii.Bool(true),
			},
		})
	s.nameResource(group, name+"Shift")
}
