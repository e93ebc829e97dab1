package streamsort

import (
	"fmt"
	"os"

	"github.com/streamsort/streamsort/internal/quota"
)

// readQuotas is the file of quotas, beside the programs of the functions that tenants call.
func readQuotas(path string) (map[string]string, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if _, err := quota.Read(text); err != nil {
		return nil, fmt.Errorf("is %s: %w", path, err)
	}
	return map[string]string{quota.File: string(text)}, nil
}

func (p Props) checkQuotas(c *checker) {
	if _, err := readQuotas(p.QuotasFile); err != nil {
		c.fail("quotasFile", "%v", err)
	}
	if p.QuotasFile != "" && !p.hasTenants() {
		c.fail("quotasFile",
			"is for tenants, and there are none; write tenantIssuer, tenantAudience and tenantClaim too")
	}
}
