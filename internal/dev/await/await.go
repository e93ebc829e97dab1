// Package await has tests wait for a state: call [Until]. It gives up by what it saw, not by the
// clock, so that a slow machine makes a test slow and not red.
package await

import (
	"reflect"
	"testing"
	"time"
)

const (
	// most is how many polls in a row may see the same.
	most = 2000
	// Looking may keep a process busy, so polls become rarer.
	firstPause, longestPause = time.Millisecond, 50 * time.Millisecond
)

// Until polls until look reports true. It fails the test where look has seen the same in 2,000
// polls in a row: seen is all that shows progress, nil if nothing does.
func Until(t testing.TB, what string, look func() (done bool, seen any)) {
	t.Helper()
	var last any
	pause := firstPause
	for same := 0; ; same++ {
		done, seen := look()
		if done {
			return
		}
		if !reflect.DeepEqual(seen, last) {
			same, last = 0, seen
		}
		if same == most {
			t.Fatalf("waited in vain for %s: %d polls saw %v", what, most, seen)
			return
		}
		time.Sleep(pause)
		pause = min(pause*5/4, longestPause)
	}
}

// True is [Until] of what shows no progress.
func True(t testing.TB, what string, is func() bool) {
	t.Helper()
	Until(t, what, func() (bool, any) { return is(), nil })
}
