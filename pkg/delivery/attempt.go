package delivery

import (
	"errors"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/request"
)

// attemptOf is the attempt that a consumer's claim was, which ended with an answer.
func attemptOf(c Consumer, now time.Time, took time.Duration, answer string,
	shown int) request.Attempt {
	return request.Attempt{
		N: c.attempt(), Token: c.Token.String(), From: c.From, To: c.To, At: now, Took: took,
		Answer: shorten(strings.ToValidUTF8(answer, "?"), request.MaxAnswer), Shown: shown,
	}
}

// died is the attempt that a consumer's claim was, where nothing was answered until its lease was
// over.
func died(c Consumer) request.Attempt {
	return request.Attempt{N: c.attempt(), Token: c.Token.String(), From: c.From, To: c.To,
		At: c.LeaseUntil, Died: true}
}

// attempt is the attempt that failed for a cause. An error that names what was called, and the
// call's id there, says so by its method Called.
func (run *delivery) attempt(c Consumer, cause error, now time.Time) request.Attempt {
	why, _ := wordsOf(cause)
	a := attemptOf(c, now, run.returned.Sub(run.handed), why, shownOf(cause, why))
	var called interface{ Called() (by, id string) }
	if errors.As(cause, &called) {
		by, id := called.Called()
		a.By, a.CallID = shorten(by, request.MaxCaller), shorten(id, request.MaxCallID)
	}
	return a
}
