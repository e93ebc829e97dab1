package tenant_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/tenant"
)

func ExampleSplit() {
	fmt.Println(tenant.Split("@acme/orders/2026"))
	fmt.Println(tenant.Split("orders/2026"))
	// Output:
	// acme orders/2026
	//  orders/2026
}

func TestValidate(t *testing.T) {
	for _, good := range []string{
		"a", "acme", "org_9K2", "auth0|5f7c8ec7", "it@acme.example", "00000000-0000-4000-8000-000000000000",
		"@", "urn:acme:shop", strings.Repeat("x", 64),
	} {
		check.OK(t, tenant.Validate(good))
	}
	for _, bad := range []string{
		"", "a/b", "/", "[a b]", "a b", "a,b", "a\x00", "a\n", "é", "a\u2215b", "%2F", `a"b`, `a\b`, "\xff", strings.Repeat("x", 65),
	} {
		check.That(t, tenant.Validate(bad) != nil, "%q is a tenant", bad)
	}
}

func TestSplitWithoutATenant(t *testing.T) {
	for _, name := range []string{"", "orders", "a/b", "@", "@/", "@/b", "@a", "@a/", "@a b/c",
		" @a/b", "a@b/c"} {
		of, rest := tenant.Split(name)
		check.That(t, of == "" && rest == name, "%q: tenant %q, name %q", name, of, rest)
	}
}

func TestIsCut(t *testing.T) {
	for prefix, want := range map[string]bool{
		"": false, "orders/": false, "a@b": false, "@acme/": false, "@acme/orders": false, "@a@b/": false,
		"@": true, "@acme": true, "@/": true, "@a b/": true, "@\u00e9/": true, "@" + strings.Repeat("x", 65) + "/": true,
	} {
		check.Is(t, tenant.IsCut(prefix), want, prefix)
	}
}

// What is put together comes apart as it was, so no two pairs make one name.
func TestSplitUndoesName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		of := rapid.StringMatching(`[@a|=:./]{1,6}`).Filter(func(s string) bool {
			return tenant.Validate(s) == nil
		}).Draw(t, "tenant")
		name := rapid.StringMatching(`[@a/é]{1,6}`).Draw(t, "name")
		if gotOf, gotName := tenant.Split(tenant.Name(of, name)); gotOf != of || gotName != name {
			t.Errorf("%q of %q came apart as %q of %q", name, of, gotName, gotOf)
		}
	})
}
