package main

import (
	"runtime/debug"
	"testing"
)

func TestVersion(t *testing.T) {
	installed := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}
	commit := &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}}}
	for _, c := range []struct {
		released string
		built    *debug.BuildInfo
		want     string
	}{
		{"1.2.3", commit, "1.2.3"},
		{"1.2.3", nil, "1.2.3"},
		{"", installed, "v1.2.3"},
		{"", commit, "devel abc"},
		{"", &debug.BuildInfo{}, "devel"},
		{"", nil, "unknown"},
	} {
		if got := versionOf(c.released, c.built); got != c.want {
			t.Errorf("%q, %+v: %q, want %q", c.released, c.built, got, c.want)
		}
	}
}
