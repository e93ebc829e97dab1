package sink

import (
	"slices"
	"strings"
	"testing"
)

// The tenant of a queue is told beside its whole name; a queue without one has
// nothing more than before.
func TestTenantIsTold(t *testing.T) {
	b := batchOf("@acme/orders", "{}")
	written, err := documents(b, all)
	if err != nil || !strings.HasPrefix(string(written[0]), `{"queue":"@acme/orders","tenant":"acme","consumer":"c"`) {
		t.Errorf("document %s, %v", written, err)
	}
	items, err := fifoItems(b)
	if err != nil {
		t.Fatal(err)
	}
	if m := items[0].entry; m.group != "@acme/orders" || !slices.Contains(m.attributes, attribute{"tenant", "String", "acme"}) {
		t.Errorf("entry %+v", m)
	}
	for _, queue := range []string{"orders", "a/b", "@acme", "@a b/c"} {
		items, err := fifoItems(batchOf(queue, "{}"))
		if err != nil || slices.ContainsFunc(items[0].entry.attributes, func(a attribute) bool { return a.name == "tenant" }) {
			t.Errorf("%s: %+v, %v", queue, items, err)
		}
	}
}
