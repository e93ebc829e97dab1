package xorack_test

import (
	"testing"

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
			if inside := n > xorack.FanWidth; inside == tags[tag] {
				t.Errorf("%d edges under %s are in %v", n, tag, tags)
			}
			for leaf := range tags {
				if of, _ := tenant.Split(leaf); of != want {
					t.Errorf("%d edges under %s: one is in %s", n, tag, leaf)
				}
			}
		}
	}
}
