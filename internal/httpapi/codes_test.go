package httpapi_test

import (
	"os"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/httpapi/httpapitest"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// The contract has every reason for which a field is refused, and docs/reference/errors.md every
// code of the contract.
func TestCodesAreListed(t *testing.T) {
	page := check.Get(os.ReadFile("../../docs/reference/errors.md"))
	schemas := httpapitest.Contract(t).Components.Schemas
	reasons := map[any]bool{}
	for _, reason := range schemas["Reason"].Value.Enum {
		reasons[reason] = true
	}
	for _, code := range []invalid.Code{
		invalid.Missing, invalid.Unknown, invalid.Malformed, invalid.TooLarge, invalid.OutOfRange, invalid.Misplaced, invalid.Clash,
	} {
		check.That(t, reasons[string(code)], "docs/openapi.yaml has no reason %s", code)
	}
	for _, part := range schemas["Code"].Value.AnyOf {
		for _, code := range part.Value.Enum {
			check.That(t, strings.Contains(string(page), "| `"+code.(string)+"` |"),
				"docs/reference/errors.md has no row of %s", code)
		}
	}
}
