package s3

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/cursor"
)

func TestKeys(t *testing.T) {
	for queue, want := range map[string]string{
		"orders":           "c/own/orders/",
		"orders/2026 é":    "c/own/orders!2F2026!20!C3!A9/",
		"..":               "c/own/!2E./",
		"_hidden":          "c/own/!5Fhidden/",
		"@acme/orders":     "c/tenants/acme/orders/",
		"@a|b@c.d/x":       "c/tenants/a!7Cb!40c.d/x/",
		"@no tenant/x":     "c/own/!40no!20tenant!2Fx/",
		"tenants/acme/x":   "c/own/tenants!2Facme!2Fx/",
		"!-long":           "c/own/!21-long/",
		"@acme/../other/x": "c/tenants/acme/!2E.!2Fother!2Fx/",
	} {
		check.Is(t, folder("c", queue), want, queue)
	}
	check.Is(t, key("_a.b", "q", 7, 12), "!5Fa.b/own/q/0000000000000000007-0000000000000000012.ndjson.gz")
	for key, want := range map[string]bool{
		key("c", "q", 7, cursor.MaxSeq): true, "c/own/q/7-12.ndjson.gz": false, "c/own/q/notes.txt": false,
		"c/own/q/0000000000000000007-0000000000000000012.ndjson.gz.bak": false,
	} {
		if first, _, ok := rangeOf(key); ok != want || ok && first != 7 {
			t.Errorf("%s: %d, %v", key, first, ok)
		}
	}
}

var safe = regexp.MustCompile(`^(?:[A-Za-z0-9!-][A-Za-z0-9!._-]*/)+$`)

// TestFoldersAreApart: whatever names are, no queue's folder is another's, or within it, and a
// tenant's are its own.
func TestFoldersAreApart(t *testing.T) {
	names := rapid.OneOf(
		rapid.StringOfN(rapid.RuneFrom([]rune("ab_.-!@/%é 2F")), 1, 8, -1),
		rapid.Map(rapid.StringOfN(rapid.RuneFrom([]rune("aü/")), 400, 500, -1), func(s string) string { return s[:min(len(s), cursor.MaxQueueName)] }),
	)
	rapid.Check(t, func(t *rapid.T) {
		a, b := names.Draw(t, "a"), names.Draw(t, "b")
		for _, queue := range []string{a, "@acme/" + a} {
			of := folder("c", queue)
			if longest := len(folder(strings.Repeat("_", 128), "@"+strings.Repeat("@", 64)+"/"+a)) + 49; !safe.MatchString(of) || longest > 1024 {
				t.Fatalf("%q: %s; its longest key has %d bytes", queue, of, longest)
			}
			if acme := strings.HasPrefix(of, "c/tenants/acme/"); acme != strings.HasPrefix(queue, "@acme/") {
				t.Fatalf("%q: %s", queue, of)
			}
		}
		if a != b && strings.HasPrefix(folder("c", a), folder("c", b)) {
			t.Fatalf("%q and %q: %s, %s", a, b, folder("c", a), folder("c", b))
		}
		if strings.HasPrefix(folder("c", a), Folder("d")) {
			t.Fatalf("%q is another consumer's", a)
		}
	})
}
