//go:build whole

package functions_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/sources"
)

// No function finds its credentials by the SDK's chain: that would take more than half of its
// start, and make it larger. Lambda gives them in the environment (internal/awsenv).
func TestNoFunctionImportsTheChain(t *testing.T) {
	said, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "./...").Output()
	if err != nil {
		t.Fatal("go list: ", err)
	}
	check.OK(t, sources.Note(t.Context(), ".", "./..."))
	packages := strings.Fields(string(said))
	if !slices.Contains(packages, "github.com/streamsort/streamsort/internal/awsenv") {
		t.Fatal("functions without internal/awsenv")
	}
	if slices.Contains(packages, "github.com/aws/aws-sdk-go-v2/config") {
		t.Error("a function imports aws-sdk-go-v2/config")
	}
}
