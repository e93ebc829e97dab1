// Package interpret says how functions run that are no programs of their own: those in
// Python and Node. Call [Command].
//
// Python functions run behind the Runtime Interface Client that AWS publishes on PyPI
// (awslambdaric), pinned by its hashes, which is what runs on AWS too; there are wheels of
// it for Linux, elsewhere pip compiles it. Its like for Node is compiled everywhere as it
// is installed, so a Node function runs behind bootstrap.mjs here, which is made of what
// AWS documents of the Runtime API.
//
// The interpreter is this machine's, whichever version a template names.
package interpret

import (
	"context"
	_ "embed" // for requirements and bootstrap
	"fmt"
	"os/exec"
	"strings"

	"github.com/streamsort/streamsort/internal/dev/pyenv"
)

var (
	//go:embed requirements.txt
	requirements []byte
	//go:embed bootstrap.mjs
	bootstrap string
)

// Command is the program, and its arguments, that runs a handler of a runtime in the
// folder of its code. The first one in Python makes an environment for it, which takes
// some seconds and the network.
func Command(ctx context.Context, runtime, handler string) (program string, arguments []string, err error) {
	switch {
	case strings.HasPrefix(runtime, "python"):
		program, err = pyenv.Python(ctx, "awslambdaric", requirements)
		return program, []string{"-B", "-m", "awslambdaric", handler}, err // -B: nothing is written beside the code
	case strings.HasPrefix(runtime, "nodejs"):
		if program, err = exec.LookPath("node"); err != nil {
			return "", nil, fmt.Errorf("needs Node 20 or newer: %w", err)
		}
		return program, []string{"--input-type=module", "--eval", bootstrap, handler}, nil
	}
	return "", nil, fmt.Errorf("%s is not run here", runtime)
}
