package cursor_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// Each setting has its name, by which it is read and set.
func TestSettingsByTheirNames(t *testing.T) {
	want := cursor.Settings{
		Kind: cursor.KindKeyed, First: 7, Policy: cursor.PolicyAlert, GapAfter: 90 * time.Second,
		MaxAhead: 3, Mode: cursor.ModeAsync,
		KeyType: "time", Settle: 7 * time.Second, Late: cursor.LateDrop, ClockAhead: 9 * time.Hour,
	}
	var change cursor.Change
	names := 0
	for name, value := range want.All() {
		names++
		check.OK(t, change.Set(name, fmt.Sprint(value)))
	}
	check.Is(t, cursor.DefaultSettings().With(change), want)
	fields := reflect.TypeFor[cursor.Settings]().NumField()
	check.That(t, names == fields && reflect.TypeFor[cursor.Change]().NumField() == fields,
		"%d names of %d settings, of which %d can be changed", names, fields,
		reflect.TypeFor[cursor.Change]().NumField())
}

func TestSettingsThatCannotBeRead(t *testing.T) {
	for name, text := range map[string]string{"kind": "fifo", "first": "-1", "gapAfter": "5",
		"maxAhead": "many", "MaxAhead": "1", "": "1"} {
		var change cursor.Change
		refuses(t, name, change.Set(name, text), name)
	}
	var change cursor.Change
	if err := change.Set("maxAhead", "-1"); err == nil ||
		!strings.Contains(err.Error(), "must be an integer from 1 to 10000000") {
		t.Errorf("maxAhead -1: %v", err)
	}
	err := change.Set("other", "1")
	for name := range cursor.DefaultSettings().All() {
		check.That(t, strings.Contains(err.Error(), name), "%v: no %s", err, name)
	}
}
