package tenancy

import (
	"encoding/json"

	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/tenant"
)

// Caller is what was verified of the sender of a request.
type Caller struct {
	// Claims are those of a token, nil where there was none.
	Claims map[string]json.RawMessage
	// Signed says that the request was signed for IAM.
	Signed bool
	// ARN is the signer's.
	ARN string
}

// Scope is whose names the caller's are: those of the tenant in the token's claim, or an operator's
// where the request was signed. Any other caller is refused: that is a [NoTenantError].
func (c Caller) Scope(claim string) (Scope, error) {
	if c.Claims == nil {
		if c.Signed {
			return Scope{}, nil
		}
		return Scope{}, &NoTenantError{"the request has no verified token, and is not signed for IAM"}
	}
	value, ok := c.Claims[claim]
	if !ok {
		return Scope{}, &NoTenantError{"the token has no claim " + claim}
	}
	name, err := strictjson.Text(value)
	if err == nil {
		err = tenant.Validate(name)
	}
	if err != nil {
		return Scope{}, &NoTenantError{"the token's claim " + claim + " " + err.Error()}
	}
	return Scope{name}, nil
}

// NoTenantError says why a caller is neither a tenant nor an operator.
type NoTenantError struct{ Why string }

func (e *NoTenantError) Error() string { return e.Why }
