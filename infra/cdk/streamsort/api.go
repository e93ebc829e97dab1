package streamsort

import (
	"fmt"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"
)

// routes are the HTTP API's routes; docs/openapi.yaml describes them. Names of
// queues and consumers travel in bodies and query strings, never in paths.
func (s *Streamsort) routes() []route {
	return []route{
		{"PostMessages", "POST", "/messages", s.EnqueueFunction},
		{"GetMessages", "GET", "/messages", s.EnqueueFunction},
		{"GetQueues", "GET", "/queues", s.EnqueueFunction},
		{"PutQueues", "PUT", "/queues", s.EnqueueFunction},
		{"GetGaps", "GET", "/gaps", s.EnqueueFunction},
		{"GetConsumers", "GET", "/consumers", s.HandoffFunction},
		{"PostConsumers", "POST", "/consumers", s.HandoffFunction},
		{"GetActs", "GET", "/acts", s.HandoffFunction},
		{"PostActs", "POST", "/acts", s.HandoffFunction},
		{"GetClaims", "GET", "/claims", s.HandoffFunction},
		{"PostClaims", "POST", "/claims", s.HandoffFunction},
		{"PatchClaims", "PATCH", "/claims", s.HandoffFunction},
		{"GetChains", "GET", "/chains", s.AckFunction},
		{"PostAcks", "POST", "/acks", s.AckFunction},
	}
}

// route is a route of the HTTP API and the function behind it.
type route struct {
	id, method, path string
	function         awslambda.Function
}

// addAPI puts an HTTP API before enqueue, handoff and ack. A request must be signed
// (IAM) on every route, and API Gateway may call each function on its routes
// only.
func (s *Streamsort) addAPI() {
	s.api = awsapigatewayv2.NewCfnApi(s.scope, jsii.String("Api"), &awsapigatewayv2.CfnApiProps{
		Name: &s.id, ProtocolType: jsii.String("HTTP"),
		Description: jsii.String("Streamsort: messages, queues, gaps, consumers and chains"),
	})
	targets := map[awslambda.Function]*string{
		s.EnqueueFunction: s.integrate("ApiIntegration", s.EnqueueFunction),
		s.HandoffFunction: s.integrate("ApiHandoffIntegration", s.HandoffFunction),
		s.AckFunction:     s.integrate("ApiAckIntegration", s.AckFunction),
	}
	for _, route := range s.routes() {
		awsapigatewayv2.NewCfnRoute(s.scope, jsii.String(route.id+"Route"), &awsapigatewayv2.CfnRouteProps{
			ApiId:             s.api.Ref(),
			RouteKey:          jsii.String(route.method + " " + route.path),
			AuthorizationType: jsii.String("AWS_IAM"),
			Target:            targets[route.function],
		})
		awslambda.NewCfnPermission(s.scope, jsii.String(route.id+"Permission"), &awslambda.CfnPermissionProps{
			Action:       jsii.String("lambda:InvokeFunction"),
			FunctionName: route.function.FunctionArn(),
			Principal:    jsii.String("apigateway.amazonaws.com"),
			SourceArn:    s.routeARN(route.method, route.path),
		})
	}
	s.addStage()
}

// integrate puts a function behind the API, and returns the target that routes
// name it by.
func (s *Streamsort) integrate(id string, function awslambda.Function) *string {
	integration := awsapigatewayv2.NewCfnIntegration(s.scope, &id, &awsapigatewayv2.CfnIntegrationProps{
		ApiId:                s.api.Ref(),
		IntegrationType:      jsii.String("AWS_PROXY"),
		IntegrationUri:       function.FunctionArn(),
		PayloadFormatVersion: jsii.String("2.0"),
	})
	return awscdk.Fn_Join(jsii.String("/"), &[]*string{jsii.String("integrations"), integration.Ref()})
}

// addStage deploys the API at its root, throttled, with an access log that
// tells who asked for which route, and nothing that a request carried.
func (s *Streamsort) addStage() {
	awsapigatewayv2.NewCfnStage(s.scope, jsii.String("ApiStage"), &awsapigatewayv2.CfnStageProps{
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
