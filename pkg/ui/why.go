package ui

import "time"

type reason struct {
	Consumer, State, Cause, Text string
	Error                        string
	Attempts                     []attempt
	NextTry                      time.Time
	Type                         []string
	Anchor                       string
}
