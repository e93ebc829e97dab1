//go:build !unix

package main

import (
	"fmt"
	"runtime"
)

// Run implements the verb: the stack is processes in groups, which are stopped by signals, and
// those other systems do not have.
func (c *localCommand) Run(*session) error {
	return fmt.Errorf("the local stack does not run on %s: it needs Linux or macOS (on Windows, the Windows Subsystem for Linux); "+
		"the other verbs work here, against a stack at --url", runtime.GOOS)
}
