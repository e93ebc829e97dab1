// Package interpret says how functions run that are no programs of their own: those in Python and
// Node. Call [Command].
//
// Each runs behind a small program here, made of what AWS documents of the Runtime API: the
// runtimes that AWS publishes have to be fetched, and compiled on some machines.
//
// The interpreter is the one on the PATH, whichever version a template names.
package interpret

import (
	_ "embed" // for the bootstraps
	"fmt"
	"os/exec"
	"strings"
)

var (
	//go:embed bootstrap.py
	python string
	//go:embed bootstrap.mjs
	node string
)

// HandlerNotFound is the errorType of a handler that is not there.
const HandlerNotFound = "Runtime.HandlerNotFound"

// Command is the program, and its arguments, that runs a handler of a runtime in the folder of its
// code.
func Command(runtime, handler string) (program string, arguments []string, err error) {
	name, needs, arguments := "node", "Node 20 or newer",
		[]string{"--input-type=module", "--eval", node, handler}
	if strings.HasPrefix(runtime, "python") {
		// -B: nothing is written beside the code. -u: lines are shown when they are printed.
		name, needs, arguments = "python3", "Python 3.10 or newer",
			[]string{"-B", "-u", "-c", python, handler}
	}
	if program, err = exec.LookPath(name); err != nil {
		err = fmt.Errorf("%s is not on the PATH, and a function in its language needs it: install %s",
			name, needs)
	}
	return program, arguments, err
}
