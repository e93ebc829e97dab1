package httpapi

import (
	"encoding/json"

	"github.com/streamsort/streamsort/internal/tenancy"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// callerOf reads who calls from the parts of the event that the caller cannot
// influence. What cannot be read is nobody.
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-jwt-authorizer.html
// https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-mapping-template-reference.html
func callerOf(s shape, authorizer, signer json.RawMessage) tenancy.Caller {
	var a struct {
		JWT struct {
			Claims map[string]json.RawMessage `json:"claims"`
		} `json:"jwt"`
		Claims map[string]json.RawMessage `json:"claims"`
		IAM    *struct{}                  `json:"iam"`
	}
	var by struct {
		UserARN string `json:"userArn"`
	}
	if len(authorizer) > 0 && json.Unmarshal(authorizer, &a) != nil {
		return tenancy.Caller{}
	}
	if s == payload {
		return tenancy.Caller{Claims: a.JWT.Claims, Signed: a.IAM != nil}
	}
	_ = json.Unmarshal(signer, &by)
	return tenancy.Caller{Claims: a.Claims, Signed: by.UserARN != ""}
}

// scope is whose names the call's are. A direct invoke is an operator's, as is every
// call where there are no tenants.
func (a *API) scope(raw json.RawMessage, r *Request) (tenancy.Scope, error) {
	switch {
	case a.TenantClaim == "":
		return tenancy.Scope{}, nil
	case r.Direct:
		return tenancy.Scope{}, notLikeAnEvent(raw)
	}
	return r.caller.Scope(a.TenantClaim)
}

// notLikeAnEvent refuses a direct invoke's document that has what events of API
// Gateway have and could not be read as one: it must never pass for an operator's.
func notLikeAnEvent(raw json.RawMessage) error {
	var event struct {
		RequestContext json.RawMessage `json:"requestContext"`
	}
	if json.Unmarshal(raw, &event) == nil && len(event.RequestContext) > 0 {
		return invalid.New(invalid.Malformed, "requestContext", "is that of an event which cannot be read")
	}
	return nil
}
