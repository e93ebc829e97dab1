package deduplambda

import (
	"os"
	"strconv"
	"strings"
)

// OffInEnvironment reports whether POWERTOOLS_IDEMPOTENCY_DISABLED is true, 1, yes
// or on: by that, programs that use Powertools switch deduplication off. Give it to
// [dedup.Options].Off.
func OffInEnvironment() bool {
	value := strings.ToLower(os.Getenv("POWERTOOLS_IDEMPOTENCY_DISABLED"))
	off, err := strconv.ParseBool(value)
	return err == nil && off || value == "yes" || value == "on"
}
