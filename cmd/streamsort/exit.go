package main

import (
	"context"
	"errors"
	"net"
	"net/url"
)

// The exit codes. One that is interrupted has done what it was asked for.
const (
	exitDone        = 0
	exitRefused     = 1 // refused, or done in part
	exitUsage       = 2 // the line is wrong
	exitUnreachable = 3 // nobody answered
)

// usageError is a line that is wrong, which the parser could not know.
type usageError string

func (e usageError) Error() string { return string(e) }

// exitOf is the exit code of how a verb ended.
func exitOf(err error) int {
	var usage usageError
	var request *url.Error
	var network *net.OpError
	switch {
	case err == nil || errors.Is(err, context.Canceled):
		return exitDone
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &request), errors.As(err, &network) && network.Op == "dial":
		return exitUnreachable
	}
	return exitRefused
}

// exitHelp says it to who asks for help.
const exitHelp = "Exit codes: 0 done, 1 refused or done in part, 2 the line is wrong, 3 nobody answered."
