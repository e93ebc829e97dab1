package acts

import (
	"strings"
	"testing"
)

func TestLike(t *testing.T) {
	for _, c := range []struct {
		text, pattern string
		want          bool
	}{
		{"time-out of the call", "", true},
		{"", "", true},
		{"time-out", "out", true},
		{"time-out", "outs", false},
		{"time-out of the call", "time*", true},
		{"a time-out", "time*", true},
		{"arn:aws:lambda:eu-west-1:1:function:f: Unhandled: time-out", "time*", true},
		{"a time-out", "out*time", false},
		{"a time-out", "*time*", true},
		{"call: time-out", "*out", true},
		{"time-outs", "*out", true},
		{"time-outs", "*out*x", false},
		{"abc", "a*c", true},
		{"ab", "a*b*b", false},
		{"a", "a*a", false},
		{"aa", "a*a", true},
		{"", "*", true},
		{"x", "**", true},
		{"abcabc", "*b*c*c", true},
		{"abc", "*c*b*", false},
		{strings.Repeat("a", 4096), strings.Repeat("a*", 500) + "b", false},
	} {
		if got := like(c.text, c.pattern); got != c.want {
			t.Errorf("%.20q is like %.20q: %v", c.text, c.pattern, got)
		}
	}
}
