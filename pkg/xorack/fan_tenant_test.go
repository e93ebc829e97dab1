package xorack_test

import (
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/tenant"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// The chains of a fan are of the tenant of the chain that they hang under, so that
// its edges may be ended by those who may end that one; without a tenant they have
// none.
func TestFanStaysWithItsTenant(t *testing.T) {
	for tag, want := range map[string]string{"@acme/tree": "acme", "tree": "", "@/tree": ""} {
		for _, n := range []int{1, xorack.FanWidth, xorack.FanWidth + 1, xorack.FanWidth*xorack.FanWidth + 1} {
			tags := map[string]bool{}
			for _, leaf := range xorack.Root(tag, "", 0).Fan(n) {
				tags[leaf.Tag()] = true
			}
			inside := n > xorack.FanWidth
			check.That(t, inside != tags[tag], "%d edges under %s are in %v", n, tag, tags)
			for leaf := range tags {
				of, _ := tenant.Split(leaf)
				check.That(t, of == want, "%d edges under %s: one is in %s", n, tag, leaf)
			}
		}
	}
}
