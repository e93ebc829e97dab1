// Package tenancy is whose names a caller's are, where many tenants share one stack. [Caller.Scope]
// finds the tenant in what was verified of the caller, and [Scope] puts it in front of the names
// that the caller gives, and strips it from those in the answers; package pkg/tenant defines the
// format.
//
// It is the one place that decides this. An unauthenticated caller has no Scope: one comes only
// from a token's claim, a signature for IAM, or a direct invoke.
package tenancy

import (
	"errors"
	"fmt"

	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/invalid"
	"github.com/streamsort/streamsort/pkg/tenant"
)

// Scope is whose names a call's names are. Every queue, tag and id of a message that a caller names
// goes through [Scope.Full] before it reaches a table, every token that has a name inside through
// [Scope.Owns], and every name of a table through [Scope.Short] before it is answered. What stands
// under a queue or a tag (consumers, claims, operations, requests, edges, pages) is the tenant's by
// it.
//
// The zero Scope is an operator's, who names all things in full.
type Scope struct{ tenant string }

// Tenant is the tenant, empty for an operator.
func (s Scope) Tenant() string { return s.tenant }

// Full is the stored name of what the caller names. An empty name stays empty, for the code that
// misses it to say so. The error, an [invalid.Error], says how much of the room the tenant takes.
func (s Scope) Full(field, name string) (string, error) {
	if s.tenant == "" || name == "" {
		return name, nil
	}
	full := tenant.Name(s.tenant, name)
	if len(full) > cursor.MaxQueueName {
		taken := len(full) - len(name)
		return "", &invalid.Error{
			Field: field, Code: invalid.TooLarge, Size: len(name), Most: cursor.MaxQueueName - taken,
			Problem: fmt.Sprintf("has %d bytes: it must have at most %d, since the tenant before it takes %d of %d",
				len(name), cursor.MaxQueueName-taken, taken, cursor.MaxQueueName),
		}
	}
	return full, nil
}

// Short is a stored name as the caller names it: empty for one of another tenant, which must not
// have come this far.
func (s Scope) Short(full string) string {
	if s.tenant == "" {
		return full
	}
	if of, name := tenant.Split(full); of == s.tenant {
		return name
	}
	return ""
}

// ShortID is the id of a message in a queue of the caller's as the caller named it. One that an
// operator gave has no tenant in front, and stays as it is.
func (s Scope) ShortID(full string) string {
	if of, _ := tenant.Split(full); s.tenant == "" || of == "" {
		return full
	}
	return s.Short(full)
}

// ErrNotYours is what an error of [Scope.Owns] comes of.
var ErrNotYours = errors.New("the request names what is another's")

// Owns is an [invalid.Error] where the stored name is another's: a token that the caller was given
// by somebody else holds it.
func (s Scope) Owns(field, full string) error {
	if s.tenant == "" || s.Short(full) != "" {
		return nil
	}
	return &invalid.Error{Field: field, Code: invalid.Clash, Problem: "is not of this tenant",
		Err: ErrNotYours}
}
