// Package handoff hands every queue's messages on, in order, to named
// consumers, each with a position of its own.
package handoff
