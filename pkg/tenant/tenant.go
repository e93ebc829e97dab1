// Package tenant is how a tenant stands in front of names, so that many may share one Streamsort
// and none can name another's queues, chains or messages.
//
// A tenant acme's queue orders is stored as
//
//	@acme/orders
//
// and so are its chains' tags and its messages' ids. The functions behind the HTTP API put it
// there, by a claim of the caller's token, and take it off in what they answer: a tenant never sees
// it. Whatever is delivered carries the whole name, as does what operators see. Code that gets such
// a name calls [Split]; code that makes one, such as a producer that invokes a function directly,
// [Name].
//
// # What is guaranteed
//
// Two pairs of tenant and name never make one stored name: a tenant has no slash in it
// ([Validate]), so that the first slash ends it. A name that does not begin with an @ is no
// tenant's: what was stored without tenants stays out of their reach.
package tenant

import (
	"fmt"
	"strings"
)

const maxBytes = 64

// What stands before a tenant, and between it and the name.
const begin, end = "@", "/"

// allowed are the characters of a tenant beside letters and digits: what ids of organisations,
// UUIDs, subjects such as auth0|5f7c and e-mail addresses have. No slash, which ends a tenant; no
// brackets, commas or blanks, in which a gateway writes a claim that is a list; and nothing but
// ASCII, which has no lookalikes.
const allowed = "._-:@|+="

// Validate reports a text that is no tenant: it must have 1 to 64 of the letters A to Z and a to z,
// the digits, and . _ - : @ | + =
func Validate(tenant string) error {
	if tenant == "" || len(tenant) > maxBytes {
		return fmt.Errorf("has %d bytes: it must have 1 to %d", len(tenant), maxBytes)
	}
	for i := range len(tenant) {
		c := tenant[i]
		plain := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !plain && !strings.Contains(allowed, string(rune(c))) {
			return fmt.Errorf("has the character %q: it must have letters, digits and %s only", c,
				strings.Join(strings.Split(allowed, ""), " "))
		}
	}
	return nil
}

// Name is a tenant's name as it is stored. The tenant must be valid.
func Name(tenant, name string) string { return begin + tenant + end + name }

// Split is the tenant that a stored name has in front, and the name behind it. A name without a
// tenant is its own, and the tenant is empty.
func Split(stored string) (tenant, name string) {
	rest, ok := strings.CutPrefix(stored, begin)
	if !ok {
		return "", stored
	}
	tenant, name, ok = strings.Cut(rest, end)
	if !ok || name == "" || Validate(tenant) != nil {
		return "", stored
	}
	return tenant, name
}

// IsCut reports a prefix of stored names that ends within the tenant: @acme is one of acme's names,
// and of acme-eu's. One that has its slash, @acme/, or that begins otherwise, is not.
func IsCut(prefix string) bool {
	of, _ := Split(prefix + "name")
	return of == "" && strings.HasPrefix(prefix, begin)
}
