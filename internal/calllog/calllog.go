// Package calllog decides what is logged of calls that go well. A line for each of them would cost
// more than the call itself, and metrics count them; so [Log.Success] logs a sample. What is
// refused or fails is always logged, by the code that finds out.
//
// One queue can be watched for a while ([Log.Watched]): each of its messages is logged then. The
// environment names the queue and the time at which that ends. A mark in a table could be set
// faster, but each call would have to read it, and somebody would have to take it away.
package calllog

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"
)

// Log says what is logged of calls that go well. The zero Log logs nothing of them.
type Log struct {
	// Successes is how many of a hundred calls are logged: 0 to 100.
	Successes int `json:"STREAMSORT_LOG_SUCCESSES" bounds:"0.."`
	// Queue is watched until Until.
	Queue string    `json:"STREAMSORT_LOG_QUEUE"`
	Until time.Time `json:"STREAMSORT_LOG_UNTIL"`
}

// Success logs a call that went well, if it is in the sample.
func (l Log) Success(ctx context.Context, fields ...any) {
	if rand.IntN(100) < l.Successes {
		slog.InfoContext(ctx, "answered", fields...)
	}
}

// Watched is the queue each of whose messages is logged, by its stored name; empty if there is no
// such queue, or its time is over.
func (l Log) Watched() string {
	if !time.Now().Before(l.Until) {
		return ""
	}
	return l.Queue
}
