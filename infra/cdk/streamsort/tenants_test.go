package streamsort

import (
	"encoding/json"
	"strings"
	"testing"
)

// What operates is not there without a scope of its own; and nothing but the authoriser lets
// anybody in.
func TestTenantsDoNotOperate(t *testing.T) {
	tmpl := synthesize("Orders", &Props{TenantIssuer: "https://tokens.example", TenantAudience: "shop", TenantClaim: "tenant"})
	routes := map[string]bool{}
	for id, resource := range tmpl.Resources {
		if resource["Type"] != "AWS::ApiGatewayV2::Route" {
			continue
		}
		p := resource["Properties"].(object)
		api, _ := json.Marshal(p["ApiId"])
		want := "AWS_IAM"
		if strings.Contains(string(api), "TenantApi") {
			want = "JWT"
			routes[p["RouteKey"].(string)] = true
		}
		if p["AuthorizationType"] != want {
			t.Errorf("%s is authorised by %v, want %s", id, p["AuthorizationType"], want)
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
	diff(t, "throttle", object{"ThrottlingRateLimit": 1000, "ThrottlingBurstLimit": 1000},
		tmpl.properties(t, "TenantApiStage", "AWS::ApiGatewayV2::Stage")["DefaultRouteSettings"])
}
