package template

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
)

const withTokens = `{"Resources": {
 "F": {"Type": "AWS::Lambda::Function", "Metadata": {"streamsort:source": "functions/sort"},
  "Properties": {"Runtime": "provided.al2023", "Handler": "bootstrap", "Code": {"ZipFile": "x"}, "Role": "r"}},
 "Api": {"Type": "AWS::ApiGatewayV2::Api", "Properties": {"ProtocolType": "HTTP", "Name": "a"}},
 "Stage": {"Type": "AWS::ApiGatewayV2::Stage", "Properties": {"ApiId": {"Ref": "Api"}, "StageName": "$default", "AutoDeploy": true}},
 "Integration": {"Type": "AWS::ApiGatewayV2::Integration", "Properties": {"ApiId": {"Ref": "Api"}, "IntegrationType": "AWS_PROXY",
  "IntegrationUri": {"Fn::GetAtt": ["F", "Arn"]}, "PayloadFormatVersion": "2.0"}},
 "Permission": {"Type": "AWS::Lambda::Permission", "Properties": {"Action": "lambda:InvokeFunction", "FunctionName": {"Ref": "F"},
  "Principal": "apigateway.amazonaws.com"}},
 "Tokens": {"Type": "AWS::ApiGatewayV2::Authorizer", "Properties": {"ApiId": {"Ref": "Api"}, "Name": "n", "AuthorizerType": "JWT",
  "IdentitySource": ["$request.header.Authorization"], "JwtConfiguration": {"Issuer": "https://a.example", "Audience": ["shop"]}}},
 "Route": {"Type": "AWS::ApiGatewayV2::Route", "Properties": {"ApiId": {"Ref": "Api"}, "RouteKey": "GET /x", "AuthorizationType": "JWT",
  "AuthorizerId": {"Ref": "Tokens"}, "AuthorizationScopes": ["read"], "Target": {"Fn::Join": ["/", ["integrations", {"Ref": "Integration"}]]}}}
}}`

func TestAuthorizer(t *testing.T) {
	read := func(text string) (*Template, error) {
		doc := check.Get(Parse([]byte(text)))
		return doc.Read(Options{Endpoint: endpoints})
	}
	got, err := read(withTokens)
	check.OK(t, err)
	want := &JWT{Issuer: "https://a.example", Audience: []string{"shop"}, Scopes: []string{"read"}}
	check.Is(t, cmp.Diff(want, got.APIs[0].Routes[0].JWT), "")
	for _, c := range []struct{ old, new, want string }{
		{`"AuthorizerType": "JWT"`, `"AuthorizerType": "REQUEST"`, "Resources.Tokens.Properties.AuthorizerType, JWT"},
		{`["$request.header.Authorization"]`, `["$request.querystring.token"]`, "IdentitySource, $request.header.Authorization"},
		{`"Issuer": "https://a.example", `, ``, "JwtConfiguration.Issuer"},
		{`, "JwtConfiguration"`, `, "Other"`, "JwtConfiguration, missing"},
		{`{"Ref": "Tokens"}`, `"elsewhere"`, `Resources.Route.Properties.AuthorizerId, "elsewhere"`},
		{`"AuthorizationType": "JWT"`, `"AuthorizationType": "CUSTOM"`, "AuthorizationType, NONE, AWS_IAM, JWT"},
		{`"AuthorizationType": "JWT"`, `"AuthorizationType": "AWS_IAM"`, "AuthorizerId"},
	} {
		_, err := read(strings.Replace(withTokens, c.old, c.new, 1))
		check.That(t, names(err, c.want), "%s: error %v, want %s", c.new, err, c.want)
	}
}
