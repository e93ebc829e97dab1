package edge

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/tenant"
)

// Scope is whose names a call's names are. Every queue, tag and id of a message
// that a caller names goes through [Scope.Full] before it reaches a table, every
// token that has a name inside through [Scope.Owns], and every name of a table
// through [Scope.Short] before it is answered. What stands under a queue or a tag
// (consumers, claims, acts, requests, edges, pages) is the tenant's by it.
//
// The zero Scope is an operator's, who names all things in full.
type Scope struct{ tenant string }

// Tenant is the tenant, empty for an operator.
func (s Scope) Tenant() string { return s.tenant }

// Full is the stored name of what the caller names. An empty name stays empty, for
// whoever misses it to say so. The problem says how much of the room the tenant
// takes.
func (s Scope) Full(field, name string) (string, *Problem) {
	if s.tenant == "" || name == "" {
		return name, nil
	}
	full := tenant.Name(s.tenant, name)
	if len(full) > cursor.MaxQueueName {
		taken := len(full) - len(name)
		return "", Invalid(field, fmt.Sprintf("has %d bytes: it must have at most %d, since the tenant before it takes %d of %d",
			len(name), cursor.MaxQueueName-taken, taken, cursor.MaxQueueName))
	}
	return full, nil
}

// Short is a stored name as the caller names it: empty for one of another
// tenant, which must not have come this far.
func (s Scope) Short(full string) string {
	if s.tenant == "" {
		return full
	}
	if of, name := tenant.Split(full); of == s.tenant {
		return name
	}
	return ""
}

// ShortID is the id of a message in a queue of the caller's as the caller named it.
// One that an operator gave has no tenant in front, and stays as it is.
func (s Scope) ShortID(full string) string {
	if of, _ := tenant.Split(full); s.tenant == "" || of == "" {
		return full
	}
	return s.Short(full)
}

// Owns is a problem where the stored name is another's: a token that the caller was
// given by somebody else holds it.
func (s Scope) Owns(field, full string) *Problem {
	if s.tenant == "" || s.Short(full) != "" {
		return nil
	}
	return &Problem{
		Status: http.StatusForbidden, Type: "not-yours", Title: "The request names what is another's",
		Errors: []FieldError{{field, "is not of this tenant"}},
	}
}

// shorten takes the tenant off the names that a problem quotes.
func (s Scope) shorten(p *Problem) {
	p.Detail = s.Told(p.Detail)
	for i, e := range p.Errors {
		p.Errors[i].Detail = s.Told(e.Detail)
	}
}

// Told is a text of ours with the caller's own names in it, where it quotes stored
// ones.
func (s Scope) Told(text string) string {
	if s.tenant == "" {
		return text
	}
	return strings.ReplaceAll(text, `"`+tenant.Name(s.tenant, ""), `"`)
}

// quoted is a quoted text, which may have been cut off.
var quoted = regexp.MustCompile(`"(?:[^"\\]|\\.?)*(?:"|$)`)

// ToldOfOthers is Told of a text that may quote others' names too: another stands in
// their place.
func (s Scope) ToldOfOthers(text string) string {
	if s.tenant == "" {
		return text
	}
	return quoted.ReplaceAllStringFunc(text, func(name string) string {
		if own := s.Told(name); own != name {
			return own
		}
		return "of another"
	})
}

// identity is what API Gateway or a function URL verified of the caller.
type identity struct {
	// claims are those of a token, nil where there was none.
	claims map[string]json.RawMessage
	// iam tells that the request was signed.
	iam bool
}

// identityOf reads the identity from the parts of the event that the caller has no
// hand in.
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-jwt-authorizer.html
// https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-mapping-template-reference.html
func identityOf(s shape, authorizer, signer json.RawMessage) identity {
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
	// What cannot be read is no identity.
	if len(authorizer) > 0 && json.Unmarshal(authorizer, &a) != nil {
		return identity{}
	}
	if s == payload {
		return identity{claims: a.JWT.Claims, iam: a.IAM != nil}
	}
	_ = json.Unmarshal(signer, &by)
	return identity{claims: a.Claims, iam: by.UserARN != ""}
}

// scope is whose names the call's are. Direct invokes and requests signed for IAM
// are operators'; a token's are those of the tenant in its claim; nobody else may
// come in.
func (a *API) scope(raw json.RawMessage, r *Request) (Scope, *Problem) {
	if a.TenantClaim == "" {
		return Scope{}, nil
	}
	if r.Direct {
		return Scope{}, notLikeAnEvent(raw)
	}
	if r.identity.claims == nil {
		if r.identity.iam {
			return Scope{}, nil
		}
		return Scope{}, noTenant("the request has no verified token, and is not signed for IAM")
	}
	value, ok := r.identity.claims[a.TenantClaim]
	if !ok {
		return Scope{}, noTenant("the token has no claim " + a.TenantClaim)
	}
	name, err := Text(value)
	if err == nil {
		err = tenant.Validate(name)
	}
	if err != nil {
		return Scope{}, noTenant("the token's claim " + a.TenantClaim + " " + err.Error())
	}
	return Scope{name}, nil
}

// notLikeAnEvent refuses a direct invoke's document that has what events of API
// Gateway have and could not be read as one: it must never pass for an operator's.
func notLikeAnEvent(raw json.RawMessage) *Problem {
	var event struct {
		RequestContext json.RawMessage `json:"requestContext"`
	}
	if json.Unmarshal(raw, &event) == nil && len(event.RequestContext) > 0 {
		return Invalid("requestContext", "is that of an event which cannot be read")
	}
	return nil
}

func noTenant(detail string) *Problem {
	return &Problem{Status: http.StatusForbidden, Type: "no-tenant", Title: "The caller is no tenant", Detail: detail}
}
