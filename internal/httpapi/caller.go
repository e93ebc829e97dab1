package httpapi

import (
	"encoding/json"
	"strings"

	"github.com/streamsort/streamsort/internal/tenancy"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// callerOf reads who calls from the parts of the event that the caller cannot influence. What
// cannot be read is nobody.
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-jwt-authorizer.html
// https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-mapping-template-reference.html
func callerOf(s shape, authorizer, signer json.RawMessage) tenancy.Caller {
	var a struct {
		JWT struct {
			Claims map[string]json.RawMessage `json:"claims"`
		} `json:"jwt"`
		Claims map[string]json.RawMessage `json:"claims"`
		IAM    *signed                    `json:"iam"`
	}
	var by signed
	if len(authorizer) > 0 && json.Unmarshal(authorizer, &a) != nil {
		return tenancy.Caller{}
	}
	if s == payload {
		c := tenancy.Caller{Claims: a.JWT.Claims, Signed: a.IAM != nil}
		if c.Signed {
			c.ARN = a.IAM.UserARN
		}
		return c
	}
	_ = json.Unmarshal(signer, &by)
	return tenancy.Caller{Claims: a.Claims, Signed: by.UserARN != "", ARN: by.UserARN}
}

type signed struct {
	UserARN string `json:"userArn"`
}

// Identity is who makes a request, as far as API Gateway says so. Kind is iam, with the ARN as the
// name; jwt, with the token's subject and its client; direct, of a direct invoke, for which Lambda
// names nobody; or none.
type Identity struct{ Kind, Name, Client string }

// maxIdentity bounds a name: an ARN has at most 2,048 characters.
const maxIdentity = 2048

// Identity is who makes the request. A principal that may invoke the function can make an event of
// API Gateway up, with any name in it.
func (r *Request) Identity() Identity {
	switch c := r.caller; {
	case r.Direct:
		return Identity{Kind: "direct"}
	case c.Claims != nil:
		client := claim(c, "client_id")
		if client == "" {
			client = claim(c, "azp")
		}
		return Identity{"jwt", claim(c, "sub"), client}
	case c.Signed:
		return Identity{Kind: "iam", Name: bounded(c.ARN)}
	}
	return Identity{Kind: "none"}
}

// claim is a claim of the caller's token that is a text; empty for any other.
func claim(c tenancy.Caller, name string) string {
	var text string
	if json.Unmarshal(c.Claims[name], &text) != nil {
		return ""
	}
	return bounded(text)
}

func bounded(text string) string {
	if len(text) <= maxIdentity {
		return text
	}
	return strings.ToValidUTF8(text[:maxIdentity], "")
}

// scope is whose names the call's are. A direct invoke is an operator's, as is every call where
// there are no tenants.
func (a *API) scope(raw json.RawMessage, r *Request) (tenancy.Scope, error) {
	switch {
	case a.TenantClaim == "":
		return tenancy.Scope{}, nil
	case r.Direct:
		return tenancy.Scope{}, notLikeAnEvent(raw)
	}
	return r.caller.Scope(a.TenantClaim)
}

// notLikeAnEvent refuses a direct invoke's document that has what events of API Gateway have and
// could not be read as one: it must never pass for an operator's.
func notLikeAnEvent(raw json.RawMessage) error {
	var event struct {
		RequestContext json.RawMessage `json:"requestContext"`
	}
	if json.Unmarshal(raw, &event) == nil && len(event.RequestContext) > 0 {
		return invalid.New(invalid.Malformed, "requestContext",
			"is that of an event which cannot be read")
	}
	return nil
}
