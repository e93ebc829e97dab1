package streamsort

import (
	"fmt"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"
)

// routes are the HTTP API's routes; docs/openapi.yaml describes them. Queue
// names travel in bodies and query strings, never in paths.
func routes() []struct{ id, method, path string } {
	return []struct{ id, method, path string }{
		{"PostMessages", "POST", "/messages"},
		{"GetMessages", "GET", "/messages"},
		{"GetQueues", "GET", "/queues"},
		{"PutQueues", "PUT", "/queues"},
		{"GetGaps", "GET", "/gaps"},
	}
}

// addAPI puts an HTTP API before enqueue. A request must be signed (IAM) on
// every route, and API Gateway may call the function on these routes only.
func (s *Stack) addAPI() {
	s.api = awsapigatewayv2.NewCfnApi(s.Stack, jsii.String("Api"), &awsapigatewayv2.CfnApiProps{
		Name: s.Stack.StackName(), ProtocolType: jsii.String("HTTP"),
		Description: jsii.String("Streamsort: messages, queues and gaps"),
	})
	integration := awsapigatewayv2.NewCfnIntegration(s.Stack, jsii.String("ApiIntegration"), &awsapigatewayv2.CfnIntegrationProps{
		ApiId:                s.api.Ref(),
		IntegrationType:      jsii.String("AWS_PROXY"),
		IntegrationUri:       s.EnqueueFunction.FunctionArn(),
		PayloadFormatVersion: jsii.String("2.0"),
	})
	target := awscdk.Fn_Join(jsii.String("/"), &[]*string{jsii.String("integrations"), integration.Ref()})
	for _, route := range routes() {
		awsapigatewayv2.NewCfnRoute(s.Stack, jsii.String(route.id+"Route"), &awsapigatewayv2.CfnRouteProps{
			ApiId:             s.api.Ref(),
			RouteKey:          jsii.String(route.method + " " + route.path),
			AuthorizationType: jsii.String("AWS_IAM"),
			Target:            target,
		})
		awslambda.NewCfnPermission(s.Stack, jsii.String(route.id+"Permission"), &awslambda.CfnPermissionProps{
			Action:       jsii.String("lambda:InvokeFunction"),
			FunctionName: s.EnqueueFunction.FunctionArn(),
			Principal:    jsii.String("apigateway.amazonaws.com"),
			SourceArn: s.Stack.FormatArn(&awscdk.ArnComponents{
				Service: jsii.String("execute-api"), Resource: s.api.Ref(),
				ResourceName: jsii.String("*/" + route.method + route.path),
			}),
		})
	}
	s.addStage()
}

// addStage deploys the API at its root, throttled, with an access log that
// tells who asked for which route, and nothing that a request carried.
func (s *Stack) addStage() {
	awsapigatewayv2.NewCfnStage(s.Stack, jsii.String("ApiStage"), &awsapigatewayv2.CfnStageProps{
		ApiId:      s.api.Ref(),
		StageName:  jsii.String("$default"),
		AutoDeploy: true,
		DefaultRouteSettings: &awsapigatewayv2.CfnStage_RouteSettingsProperty{
			ThrottlingRateLimit:  jsii.Number(s.props.APIRate),
			ThrottlingBurstLimit: jsii.Number(s.props.APIBurst),
		},
		AccessLogSettings: &awsapigatewayv2.CfnStage_AccessLogSettingsProperty{
			DestinationArn: s.newLogGroup("ApiLogs").LogGroupArn(),
			Format:         jsii.String(accessLogFormat()),
		},
	})
}

// accessLogFormat is one line of JSON a request.
func accessLogFormat() string {
	var fields []string
	for _, name := range []string{
		"requestId", "requestTime", "routeKey", "status", "responseLength", "responseLatency",
		"integrationLatency", "integrationErrorMessage", "error.message", "identity.sourceIp", "identity.userArn",
	} {
		fields = append(fields, fmt.Sprintf(`"%s":"$context.%s"`, strings.TrimPrefix(name, "identity."), name))
	}
	return "{" + strings.Join(fields, ",") + "}"
}
