package main

import (
	"cmp"
	"runtime/debug"
	"strings"
)

// version is set by the linker in what is released.
var version string

// build is the version that was released, and what the linker knows.
func build() (released string, built *debug.BuildInfo) {
	built, _ = debug.ReadBuildInfo()
	return version, built
}

// fetchable is this version as the Go toolchain names it; empty where it has none that can be
// fetched.
func fetchable(released string, built *debug.BuildInfo) string {
	if released != "" {
		return "v" + strings.TrimPrefix(released, "v")
	}
	if built == nil || !strings.HasPrefix(built.Main.Version, "v") ||
		strings.Contains(built.Main.Version, "+dirty") {
		return ""
	}
	return built.Main.Version
}

// versionOf says which version this is: the release's, or the module's of `go install`, or the
// commit that it was built from.
func versionOf(released string, built *debug.BuildInfo) string {
	if released != "" || built == nil {
		return cmp.Or(released, "unknown")
	}
	if built.Main.Version != "" && built.Main.Version != "(devel)" {
		return built.Main.Version
	}
	for _, setting := range built.Settings {
		if setting.Key == "vcs.revision" {
			return "devel " + setting.Value
		}
	}
	return "devel"
}
