package template

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// API is an AWS::ApiGatewayV2::Api of the protocol HTTP, with its routes and stages.
type API struct {
	LogicalID string
	ID        string // as in the events' requestContext.apiId
	Endpoint  string // base URL without a final slash
	Routes    []Route
	Stages    []Stage
}

// Route is one route of an HTTP API with a Lambda proxy integration of payload format 2.0.
type Route struct {
	Key      string // "POST /messages" or "$default"
	Method   string // a method, or ANY; empty for $default
	Path     string // with {variables}; empty for $default
	Function string
	Timeout  time.Duration // of the integration: 50 ms to 30 s
	IAM      bool          // signed requests only, on AWS
	JWT      *JWT          // requests with such a token only; nil: no tokens
}

// JWT is what a token must have to be let in.
type JWT struct {
	Issuer   string   // its claim iss
	Audience []string // one of them is its claim aud, or client_id
	Scopes   []string // one of them is in its claim scope, if there are any
}

// Stage is a stage of an HTTP API. The name $default stands for no path prefix.
type Stage struct {
	Name      string
	Variables map[string]string
}

type integration struct {
	api, function string
	timeout       time.Duration
}

// permission is an AWS::Lambda::Permission.
type permission struct {
	function, principal, sourceARN string
}

func (r *reader) api(id, physical string, p *props) {
	p.ignore("Description", "DisableExecuteApiEndpoint", "FailOnWarnings", "IpAddressType", "Name",
		"Tags", "Version")
	p.oneOf("ProtocolType", "", "HTTP")
	r.template.APIs = append(r.template.APIs,
		API{LogicalID: id, ID: apiID(physical), Endpoint: r.endpoint(id)})
}

func (r *reader) integration(id, _ string, p *props) {
	p.ignore("ConnectionType", "Description", "IntegrationMethod")
	p.oneOf("IntegrationType", "", "AWS_PROXY")
	p.oneOf("PayloadFormatVersion", "", "2.0")
	uri := p.need("IntegrationUri")
	if strings.Contains(uri, ":apigateway:") {
		uri = strings.TrimSuffix(uri, "/invocations")
	}
	r.integrations[id] = integration{
		api: p.need("ApiId"), function: FunctionName(uri[strings.LastIndex(uri, "/")+1:]),
		timeout: time.Duration(p.integer("TimeoutInMillis", 30_000, 50, 30_000)) * time.Millisecond,
	}
}

func (r *reader) route(_, _ string, p *props) {
	p.ignore("OperationName")
	route, authorizer := Route{Key: p.need("RouteKey")}, ""
	switch p.oneOf("AuthorizationType", "NONE", "NONE", "AWS_IAM", "JWT") {
	case "AWS_IAM":
		route.IAM = true
	case "JWT":
		authorizer, route.JWT = p.need("AuthorizerId"), &JWT{Scopes: p.texts("AuthorizationScopes")}
	}
	if route.Key != "$default" {
		var ok bool
		if route.Method, route.Path, ok = strings.Cut(route.Key, " "); !ok ||
			!strings.HasPrefix(route.Path, "/") {
			p.bad("RouteKey", "must be $default, or a method and a path as in \"GET /pets\", not %q",
				route.Key)
		}
	}
	integration, ok := strings.CutPrefix(p.need("Target"), "integrations/")
	if !ok {
		p.bad("Target", "must be integrations/ and the id of an integration")
	}
	r.inAPI(p, func(api *API) { r.addRoute(p, api, route, integration, authorizer) })
}

// jwtAuthorizer is an authoriser of the type JWT, and its API.
type jwtAuthorizer struct {
	api string
	JWT
}

// tokenSource is the only place of a token that is read.
const tokenSource = "$request.header.Authorization"

func (r *reader) authorizer(id, _ string, p *props) {
	p.ignore("Name")
	p.oneOf("AuthorizerType", "", "JWT")
	if sources := p.texts("IdentitySource"); len(sources) != 1 || sources[0] != tokenSource {
		p.bad("IdentitySource", "must be %s alone", tokenSource)
	}
	a := jwtAuthorizer{api: p.need("ApiId")}
	if !p.within("JwtConfiguration", func(token *props) {
		a.Issuer, a.Audience = token.need("Issuer"), token.texts("Audience")
	}) {
		p.bad("JwtConfiguration", "is missing")
	}
	r.authorizers[id] = a
}

func (r *reader) stage(_, physical string, p *props) {
	p.ignore("AccessLogSettings", "Description", "DefaultRouteSettings", "RouteSettings", "Tags")
	if !p.boolean("AutoDeploy", false) {
		p.bad("AutoDeploy", "must be true: deployments of their own are not run on one machine")
	}
	stage := Stage{Name: physical, Variables: p.strings("StageVariables")}
	r.inAPI(p, func(api *API) { api.Stages = append(api.Stages, stage) })
}

func (r *reader) permission(_, _ string, p *props) {
	p.ignore("EventSourceToken", "InvokedViaFunctionUrl", "PrincipalOrgID", "SourceAccount",
		"FunctionUrlAuthType")
	p.oneOf("Action", "", "lambda:InvokeFunction", "lambda:InvokeFunctionUrl", "lambda:*")
	r.permissions = append(r.permissions, permission{
		function: functionOf(p, "FunctionName"), principal: p.need("Principal"),
		sourceARN: p.text("SourceArn", ""),
	})
}

// mayInvoke reports whether a permission lets a service invoke a function for one source.
func (r *reader) mayInvoke(function, principal, sourceARN string) bool {
	return slices.ContainsFunc(r.permissions, func(p permission) bool {
		return p.function == function && p.principal == principal &&
			(p.sourceARN == "" || like(p.sourceARN, sourceARN))
	})
}

// like matches text against a pattern in which each * stands for any text, as ArnLike does.
func like(pattern, text string) bool {
	expression := strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, "(?s:.*)")
	return regexp.MustCompile("^" + expression + "$").MatchString(text)
}
