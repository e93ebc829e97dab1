package streamsort

import (
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"
)

// urlAlias is the name of enqueue behind its function URL: a call by it answers POST /messages, and
// nothing else. Rights to a function URL know no routes, so the alias has the one that a producer
// may use.
const urlAlias = "url"

// enqueueURL begins the names of what watches and moves that alias.
const enqueueURL = "EnqueueUrl"

// addFunctionURL puts a URL of Lambda's own before enqueue: requests to it cost no more than the
// function's calls.
func (s *Streamsort) addFunctionURL() {
	if !s.props.FunctionURL {
		return
	}
	s.urlAlias = s.newAlias(enqueueURL+"Alias", urlAlias,
		"What the function URL calls: it answers POST /messages, and nothing else", s.EnqueueFunction)
	s.url = awslambda.NewCfnUrl(s.scope, jsii.String("EnqueuePutUrl"), &awslambda.CfnUrlProps{
		AuthType: jsii.String("AWS_IAM"), TargetFunctionArn: s.EnqueueFunction.FunctionArn(),
		Qualifier: jsii.String(urlAlias),
	})
	// The name of the alias is a text: nothing else says that it has to be there before.
	s.url.Node().AddDependency(s.urlAlias)
}

// grantURL allows to send requests to the function URL, and to call the function in no other way.
// Lambda wants both rights: https://docs.aws.amazon.com/lambda/latest/dg/urls-auth.html
func (s *Streamsort) grantURL(grantee awsiam.IGrantable) {
	if s.url == nil {
		return
	}
	function := s.urlAlias.AliasRef().AliasArn
	request, call := allow([]string{"lambda:InvokeFunctionUrl"}, function),
		allow([]string{"lambda:InvokeFunction"}, function)
	request.AddCondition(jsii.String("StringEquals"),
		map[string]string{"lambda:FunctionUrlAuthType": "AWS_IAM"})
	call.AddCondition(jsii.String("Bool"), map[string]string{"lambda:InvokedViaFunctionUrl": "true"})
	grantee.GrantPrincipal().AddToPrincipalPolicy(request)
	grantee.GrantPrincipal().AddToPrincipalPolicy(call)
}

// PutURL is the address of the function URL; nil without one.
func (s *Streamsort) PutURL() *string {
	if s.url == nil {
		return nil
	}
	return s.url.AttrFunctionUrl()
}
