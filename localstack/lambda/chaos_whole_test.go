//go:build whole

package lambda

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/localstack/template"
)

// TestChaos repeats each failed request until it succeeds. Requests are hit both before and after
// their effect, and as often as the rate says.
func TestChaos(t *testing.T) {
	s := serve(t, Config{Chaos: KillRandomly(0.5, 7)}, template.Function{Reserved: -1})
	path := filepath.Join(t.TempDir(), "effects")
	const n = 40
	failures, withEffect := 0, 0
	effects := func() int { text, _ := os.ReadFile(path); return strings.Count(string(text), "\n") }
	for i := range n {
		for {
			before := effects()
			r := invoke(t, s, fmt.Sprintf(`{"do":"append","n":%d,"path":%q}`, i, path))
			if r.FunctionError == "" {
				break
			}
			check.Need(t, strings.Contains(string(r.Payload), "signal: killed"), "failure = %s", r.Payload)
			failures++
			withEffect += effects() - before
		}
	}
	check.That(t, failures >= n/3 && failures <= 3*n, "%d failures of %d requests", failures, n)
	check.That(t, withEffect != 0 && withEffect != failures, "%d %d", withEffect, failures)
	stats, _ := s.Stats("probe")
	check.That(t, stats.Killed == failures && stats.Errors == failures, "stats = %+v", stats)
}

// TestChaosAlways kills each request, wherever it was aimed: no answer gets through.
func TestChaosAlways(t *testing.T) {
	s := serve(t, Config{Chaos: KillRandomly(1, 7)}, template.Function{Reserved: -1})
	for range 12 {
		r := invoke(t, s, `{}`)
		check.That(t, r.FunctionError != "", "an answer got through: %s", r.Payload)
	}
}
