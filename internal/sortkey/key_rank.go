package sortkey

import (
	"fmt"
	"slices"
	"strings"

	"github.com/streamsort/streamsort/pkg/invalid"
)

const (
	MaxRankPatterns = 16
	MaxRankBytes    = 200
)

// anything is the pattern that is asked last.
const anything = "*"

// ranks are the patterns of a rank, in the order of what matches them.
type ranks []string

func (r ranks) String() string { return strings.Join(r, "|") }

func parseRanks(text string) (ranks, error) {
	patterns := strings.Split(text, "|")
	for i, pattern := range patterns {
		patterns[i] = strings.TrimSpace(pattern)
		if err := checkPattern(patterns[i]); err != nil {
			return nil, err
		}
		if slices.Contains(patterns[:i], patterns[i]) {
			return nil, invalid.New(invalid.Clash, "", "has the same pattern twice in its rank")
		}
	}
	r := ranks(patterns)
	switch {
	case len(r) > MaxRankPatterns:
		return nil, invalid.New(invalid.OutOfRange, "",
			fmt.Sprintf("has a rank of %d patterns: it must have 1 to %d", len(r), MaxRankPatterns))
	case len(r.String()) > MaxRankBytes:
		return nil,
			invalid.New(invalid.TooLarge, "",
				fmt.Sprintf("has %d bytes of patterns in its rank: at most %d are taken",
					len(r.String()), MaxRankBytes))
	}
	return r, nil
}

func checkPattern(pattern string) error {
	if pattern == "" {
		return invalid.New(invalid.Missing, "",
			"has an empty pattern in its rank: * is what matches everything")
	}
	for _, c := range []byte(pattern) {
		if c <= ' ' || c > '~' || strings.IndexByte(",|()", c) >= 0 {
			return malformedKey("has a pattern in its rank that has other characters than printable ASCII without spaces, commas, | and parentheses")
		}
	}
	return nil
}

// of is the rank of a text, false where no pattern matches it.
func (r ranks) of(text string) (rank int, found bool) {
	last := -1
	for i, pattern := range r {
		switch {
		case pattern == anything:
			last = i
		case matches(pattern, text):
			return i, true
		}
	}
	return last, last >= 0
}

// matches reports whether a text is the pattern, with anything in the places of its *. Each run
// between two of them is taken at its first place: no other leaves more room for the rest.
func matches(pattern, text string) bool {
	runs := strings.Split(pattern, "*")
	last := len(runs) - 1
	if last == 0 {
		return pattern == text
	}
	text, starts := strings.CutPrefix(text, runs[0])
	if !starts {
		return false
	}
	for _, run := range runs[1:last] {
		_, after, found := strings.Cut(text, run)
		if !found {
			return false
		}
		text = after
	}
	return strings.HasSuffix(text, runs[last])
}
