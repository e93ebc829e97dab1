package streamsort

import (
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

// What operates is not there without a scope of its own.
func TestTenantsDoNotOperate(t *testing.T) {
	tmpl := synthesize("Orders", &Props{TenantIssuer: "https://tokens.example", TenantAudience: "shop",
		TenantClaim: "tenant"})
	routes := map[string]bool{}
	for _, resource := range tmpl.Resources {
		if resource["Type"] != "AWS::ApiGatewayV2::Route" {
			continue
		}
		p := resource["Properties"].(object)
		if strings.Contains(asText(t, p["ApiId"]), "TenantApi") {
			routes[p["RouteKey"].(string)] = true
		}
	}
	for _, key := range []string{"PUT /queues", "GET /operations", "POST /operations",
		"GET /endpoints", "PUT /endpoints", "DELETE /endpoints"} {
		check.That(t, !routes[key], "tenants have %s", key)
	}
	check.That(t, len(routes) == 12, "tenants have %d routes: %v", len(routes), routes)
	n := len(tmpl.Resources)
	check.That(t, n <= 250, "the template has %d resources, more than 250", n)
}
