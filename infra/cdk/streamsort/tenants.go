package streamsort

import (
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/jsii-runtime-go"
)

// tenantClaimVariable is the claim that the functions take a caller's tenant from.
const tenantClaimVariable = "STREAMSORT_TENANT_CLAIM"

var (
	issuerURL = regexp.MustCompile(`^https://[^/?#@\s]+(/[^?#\s]*)?$`)
	// scopeText is a scope as RFC 6749, section 3.3, writes it, as long as API Gateway takes one.
	scopeText = regexp.MustCompile(`^[\x21\x23-\x5b\x5d-\x7e]{1,64}$`)
	claimText = regexp.MustCompile(`^[\x21-\x7e]{1,256}$`)
)

const maxAudiences = 50

func (p Props) hasTenants() bool { return p.TenantClaim != "" }

func (p Props) audiences() []string { return strings.Split(p.TenantAudience, ",") }

// scope is what a token needs for a route of a class; empty: no scope.
func (p Props) scope(c class) string {
	return [...]string{produce: p.TenantProduceScope, consume: p.TenantConsumeScope,
		operate: p.TenantOperateScope}[c]
}

func (p Props) checkTenants(c *checker) {
	required := []string{p.TenantIssuer, p.TenantAudience, p.TenantClaim}
	switch given := slices.DeleteFunc(slices.Clone(required), func(s string) bool {
		return s == ""
	}); len(given) {
	case 0:
		if p.TenantProduceScope+p.TenantConsumeScope+p.TenantOperateScope != "" {
			c.fail("tenantProduceScope, tenantConsumeScope, tenantOperateScope",
				"are for tenants, and there are none; write tenantIssuer, tenantAudience and tenantClaim too")
		}
		return
	case len(required):
	default:
		c.fail("tenantIssuer, tenantAudience, tenantClaim", "are %q, %q and %q; write all three or none",
			p.TenantIssuer, p.TenantAudience, p.TenantClaim)
		return
	}
	if !issuerURL.MatchString(p.TenantIssuer) {
		c.fail("tenantIssuer", "is %q; write the iss of the tokens to the letter, a URL such as "+
			"https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_example", p.TenantIssuer)
	}
	if slices.ContainsFunc(p.audiences(), func(a string) bool {
		return !claimText.MatchString(a)
	}) || len(p.audiences()) > maxAudiences {
		c.fail("tenantAudience", "is %q; write the aud (or client_id) of the tokens, or up to %d with commas and no blanks between", p.TenantAudience, maxAudiences)
	}
	if !claimText.MatchString(p.TenantClaim) {
		c.fail("tenantClaim", "is %q; write the name of a claim of the tokens, such as custom:tenant, 1 to 256 characters without blanks", p.TenantClaim)
	}
	for _, scope := range []struct{ field, text string }{
		{"tenantProduceScope", p.TenantProduceScope}, {"tenantConsumeScope", p.TenantConsumeScope}, {"tenantOperateScope", p.TenantOperateScope},
	} {
		if scope.text != "" && !scopeText.MatchString(scope.text) {
			c.fail(scope.field, "is %q; write one scope of the tokens, such as streamsort/produce, 1 to 64 characters without blanks", scope.text)
		}
	}
}

// addTenants makes the tenants' own HTTP API: it takes tokens where Api takes signatures. A route
// of an HTTP API has one kind of authorisation, and two APIs leave to the producers and operators
// in the account what they have, with throttles that tenants cannot use up.
//
// Settings and operations on consumers are there only under a scope of their own: a token that
// every user of a tenant's has must not be enough to skip messages.
func (s *Streamsort) addTenants() {
	s.tenantAPI = s.newAPI("TenantApi", s.id+"-tenants",
		"Streamsort, for tenants: what their tokens' tenant has, and no more")
	authorizer := awsapigatewayv2.NewCfnAuthorizer(s.scope, jsii.String("TenantAuthorizer"),
		&awsapigatewayv2.CfnAuthorizerProps{
			ApiId: s.tenantAPI.Ref(), Name: jsii.String("tenants"), AuthorizerType: jsii.String("JWT"),
			IdentitySource: jsii.Strings("$request.header.Authorization"),
			JwtConfiguration: &awsapigatewayv2.CfnAuthorizer_JWTConfigurationProperty{
				Issuer: &s.props.TenantIssuer, Audience: jsii.Strings(s.props.audiences()...),
			},
		})
	routes := slices.DeleteFunc(s.routes(), func(r route) bool {
		return r.class == operate && s.props.scope(operate) == ""
	})
	s.open(door{
		prefix: "Tenant", api: s.tenantAPI, rate: s.props.APIRate, caller: "authorizer.claims.sub",
		// What API Gateway refuses itself: all tenants feel it. What a function answers 429 is one
		// tenant's own quota, or its queue that is full.
		throttled: `{ $.status = "429" && $.integrationLatency = "-" }`,
		authorize: func(r route, p *awsapigatewayv2.CfnRouteProps) {
			p.AuthorizationType, p.AuthorizerId = jsii.String("JWT"), authorizer.Ref()
			if scope := s.props.scope(r.class); scope != "" {
				p.AuthorizationScopes = jsii.Strings(scope)
			}
		},
	}, routes)
}

// TenantAPIEndpoint is the address of the tenants' HTTP API; nil where there are no tenants.
func (s *Streamsort) TenantAPIEndpoint() *string {
	if s.tenantAPI == nil {
		return nil
	}
	return s.tenantAPI.AttrApiEndpoint()
}
