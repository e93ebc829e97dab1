//go:build whole

package functions_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/sources"
)

// maxZip bounds what of a function is uploaded, and loaded at a cold start: some 50 KB more
// than the largest, so that a client of the SDK, of 200 KB and more, does not fit in.
const maxZip = 3_550_000

// Each function as `make build` makes it, packed by zlib's level 9 as zip -9 and
// the CDK do, stays below the bound. What is over it has most likely linked a
// whole client of the SDK: internal/awscall says what there is instead.
func TestZips(t *testing.T) {
	dist, least := t.TempDir(), 8
	build := exec.Command("make", "-s", "-C", "..", "build", "GOARCH_LAMBDA=arm64", "DIST="+dist)
	if testing.Short() {
		build.Args, least = append(build.Args, "FUNCTIONS=sweep"), 1 // the largest
	}
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("make build: %v\n%s", err, said)
	}
	if err := sources.Note(t.Context(), ".", "./..."); err != nil {
		t.Fatal(err)
	}
	programs, err := filepath.Glob(filepath.Join(dist, "arm64", "*", "bootstrap"))
	if err != nil || len(programs) < least {
		t.Fatalf("built %v, %v", programs, err)
	}
	for _, program := range programs {
		text, err := os.ReadFile(program)
		if err != nil {
			t.Fatal(err)
		}
		pack := exec.Command("python3", "-c", "import sys, zlib; print(len(zlib.compress(sys.stdin.buffer.read(), 9)))")
		pack.Stdin = bytes.NewReader(text)
		said, err := pack.Output()
		if err != nil {
			t.Fatal("python3: ", err)
		}
		packed, err := strconv.Atoi(strings.TrimSpace(string(said)))
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(filepath.Dir(program))
		t.Logf("%-8s %.2f MB", name, float64(packed)/1e6)
		if packed > maxZip {
			t.Errorf("%s is packed %d bytes; %d is the most", name, packed, maxZip)
		}
	}
}
