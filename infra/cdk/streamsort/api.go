package streamsort

import (
	"fmt"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"
)

// class is what a route is for. A tenant's token may need a scope for each.
type class int

const (
	produce class = iota
	consume
	operate
)

// routes are the HTTP API's routes; docs/openapi.yaml describes them. Names of queues and consumers
// travel in bodies and query strings, never in paths.
func (s *Streamsort) routes() []route {
	return []route{
		{"PostMessages", "POST", "/messages", s.EnqueueFunction, produce},
		{"GetMessages", "GET", "/messages", s.EnqueueFunction, consume},
		{"GetQueues", "GET", "/queues", s.EnqueueFunction, consume},
		{"PutQueues", "PUT", "/queues", s.EnqueueFunction, operate},
		{"DeleteQueues", "DELETE", "/queues", s.DeliveryFunction, operate},
		{"GetGaps", "GET", "/gaps", s.EnqueueFunction, consume},
		{"GetSummary", "GET", "/summary", s.DeliveryFunction, consume},
		{"GetConsumers", "GET", "/consumers", s.DeliveryFunction, consume},
		{"PostConsumers", "POST", "/consumers", s.DeliveryFunction, consume},
		{"GetOperations", "GET", "/operations", s.DeliveryFunction, operate},
		{"PostOperations", "POST", "/operations", s.DeliveryFunction, operate},
		{"GetEndpoints", "GET", "/endpoints", s.DeliveryFunction, operate},
		{"PutEndpoints", "PUT", "/endpoints", s.DeliveryFunction, operate},
		{"DeleteEndpoints", "DELETE", "/endpoints", s.DeliveryFunction, operate},
		{"GetClaims", "GET", "/claims", s.DeliveryFunction, consume},
		{"PostClaims", "POST", "/claims", s.DeliveryFunction, consume},
		{"PatchClaims", "PATCH", "/claims", s.DeliveryFunction, consume},
		{"GetChains", "GET", "/chains", s.AckFunction, consume},
		{"PostAcks", "POST", "/acks", s.AckFunction, consume},
	}
}

type route struct {
	id, method, path string
	function         awslambda.Function
	class            class
}

// door is an HTTP API before enqueue, delivery and ack.
type door struct {
	// prefix begins the logical ids.
	prefix string
	api    awsapigatewayv2.CfnApi
	// rate bounds the requests of each route, a second and at once.
	rate int
	// caller is what the access log has of the caller.
	caller string
	// throttled are the lines of the access log that count as a throttled request.
	throttled string
	// authorize says who may use a route.
	authorize func(route, *awsapigatewayv2.CfnRouteProps)
}

// addAPI makes the HTTP API on which a request must be signed (IAM), on every one of these routes.
func (s *Streamsort) addAPI() {
	s.api = s.newAPI("Api", s.id, "Streamsort: messages, queues, gaps, consumers and chains")
	s.stage = s.open(door{
		api: s.api, rate: s.props.APIRate, caller: "identity.userArn", throttled: `{ $.status = "429" }`,
		authorize: func(_ route, p *awsapigatewayv2.CfnRouteProps) {
			p.AuthorizationType = jsii.String("AWS_IAM")
		},
	}, s.routes())
}

func (s *Streamsort) newAPI(id, name, description string) awsapigatewayv2.CfnApi {
	return awsapigatewayv2.NewCfnApi(s.scope, &id, &awsapigatewayv2.CfnApiProps{
		Name: &name, ProtocolType: jsii.String("HTTP"), Description: &description,
	})
}

// open gives an API its routes, of which API Gateway may call each function on those that are its
// own only, and returns its stage.
func (s *Streamsort) open(d door, routes []route) awsapigatewayv2.CfnStage {
	targets := map[awslambda.Function]*string{
		s.EnqueueFunction:  s.integrate(d, "ApiIntegration", s.EnqueueFunction),
		s.DeliveryFunction: s.integrate(d, "ApiDeliveryIntegration", s.DeliveryFunction),
		s.AckFunction:      s.integrate(d, "ApiAckIntegration", s.AckFunction),
	}
	for _, route := range routes {
		p := &awsapigatewayv2.CfnRouteProps{
			ApiId:    d.api.Ref(),
			RouteKey: jsii.String(route.method + " " + route.path),
			Target:   targets[route.function],
		}
		d.authorize(route, p)
		awsapigatewayv2.NewCfnRoute(s.scope, jsii.String(d.prefix+route.id+"Route"), p)
		s.permit(d.prefix+route.id, "apigateway", route.function,
			s.routeARN(d.api, route.method, route.path))
	}
	return s.addStage(d)
}

// integrate puts a function behind an API, and returns the target that routes name it by.
func (s *Streamsort) integrate(d door, id string, function awslambda.Function) *string {
	integration := awsapigatewayv2.NewCfnIntegration(s.scope, jsii.String(d.prefix+id),
		&awsapigatewayv2.CfnIntegrationProps{
			ApiId:                d.api.Ref(),
			IntegrationType:      jsii.String("AWS_PROXY"),
			IntegrationUri:       s.liveARN(function),
			PayloadFormatVersion: jsii.String("2.0"),
		})
	return awscdk.Fn_Join(jsii.String("/"), &[]*string{jsii.String("integrations"), integration.Ref()})
}

// addStage deploys an API at its root, throttled, with an access log that tells who asked for which
// route, and nothing that a request carried.
func (s *Streamsort) addStage(d door) awsapigatewayv2.CfnStage {
	s.accessLogs[d.api] = s.newLogGroup(d.prefix + "ApiLogs")
	s.countThrottled(d.prefix+"ApiThrottled", d.api, throttled, d.throttled)
	return awsapigatewayv2.NewCfnStage(s.scope, jsii.String(d.prefix+"ApiStage"),
		&awsapigatewayv2.CfnStageProps{
			ApiId:      d.api.Ref(),
			StageName:  jsii.String("$default"),
			AutoDeploy: true,
			DefaultRouteSettings: &awsapigatewayv2.CfnStage_RouteSettingsProperty{
				ThrottlingRateLimit:  jsii.Number(d.rate),
				ThrottlingBurstLimit: jsii.Number(d.rate),
			},
			AccessLogSettings: &awsapigatewayv2.CfnStage_AccessLogSettingsProperty{
				DestinationArn: s.accessLogs[d.api].LogGroupArn(),
				Format:         jsii.String(accessLogFormat(s.accessLogFields(d))),
			},
		})
}

// accessLogFields are what the access log has of a request. Each byte is paid for with each
// request: callers and times are there where all successes are logged.
func (s *Streamsort) accessLogFields(d door) []string {
	fields := []string{"apiId", "routeKey", "status", "error.message", "identity.sourceIp"}
	if *s.props.LogSuccesses == allSuccesses {
		return append(fields, "integrationLatency", d.caller, "requestId", "requestTime",
			"responseLength", "responseLatency", "integrationErrorMessage")
	}
	if s.tenantAPI != nil && d.api == s.tenantAPI {
		return append(fields, "integrationLatency", d.caller)
	}
	return fields
}

// accessLogFormat is one line of JSON a request.
func accessLogFormat(names []string) string {
	var fields []string
	for _, name := range names {
		fields = append(fields,
			fmt.Sprintf(`"%s":"$context.%s"`, strings.TrimPrefix(name, "identity."), name))
	}
	return "{" + strings.Join(fields, ",") + "}"
}
