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

// A version that a Go proxy has is that of a release, or of a commit that nothing was changed
// since.
func TestFetchable(t *testing.T) {
	for version, want := range map[string]string{"v1.2.3": "v1.2.3", "v0.0.0-20261122-abc": "v0.0.0-20261122-abc", "v0.0.0-20261122-abc+dirty": "", "(devel)": "", "": ""} {
		if got := fetchable("", &debug.BuildInfo{Main: debug.Module{Version: version}}); got != want {
			t.Errorf("%s: %q", version, got)
		}
	}
	if got := fetchable("1.2.3", nil); got != "v1.2.3" {
		t.Errorf("a release: %q", got)
	}
}
