package eventbridge

import (
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
)

func TestGreatIntegers(t *testing.T) {
	for document, want := range map[string]bool{
		`{"n":9223372036854775807}`:    false,
		`{"n":-9223372036854775808}`:   false,
		`{"n":9223372036854775808}`:    true,
		`[[-9223372036854775809]]`:     true,
		`{"n":"99999999999999999999"}`: false,
		`{"99999999999999999999":1}`:   false,
		`{"n":0.99999999999999999999}`: false,
		`{"n":99999999999999999999e1}`: false,
		`7`:                            false,
		``:                             false,
	} {
		check.Is(t, hasGreatInteger([]byte(document)), want, document)
	}
}
