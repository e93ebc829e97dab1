package streamsort

import (
	"strings"
	"testing"
)

// What operates is not there without a scope of its own.
func TestTenantsDoNotOperate(t *testing.T) {
	tmpl := synthesize("Orders", &Props{TenantIssuer: "https://tokens.example", TenantAudience: "shop", TenantClaim: "tenant"})
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
	for _, key := range []string{"PUT /queues", "GET /operations", "POST /operations", "GET /endpoints", "PUT /endpoints", "DELETE /endpoints"} {
		if routes[key] {
			t.Errorf("tenants have %s", key)
		}
	}
	if len(routes) != 12 {
		t.Errorf("tenants have %d routes: %v", len(routes), routes)
	}
	if n := len(tmpl.Resources); n > 250 {
		t.Errorf("the template has %d resources, more than 250", n)
	}
}
