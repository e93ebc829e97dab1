package httpsink

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/sink/kind"
	"github.com/streamsort/streamsort/pkg/delivery"
)

const (
	// maxAnswer is how many bytes an answer's body may have: what names each of 1,000 messages is
	// shorter.
	maxAnswer = 1 << 20
	// maxRetryAfter is how long an endpoint may ask to be left alone.
	maxRetryAfter = time.Hour
)

// readAnswer takes a status of 2xx for success, and says what is wrong otherwise. The body for a
// batch must be there whole, too: it may say what was not taken. The connection is used again where
// the body is no longer than what is read of it.
func readAnswer(answer *http.Response, to target, batch bool, began time.Time,
	clock func() time.Time) (delivery.Response, error) {
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	long := len(text) > maxAnswer
	if err != nil {
		text = nil
	}
	now := clock()
	said := delivery.Response{
		Status: answer.StatusCode, Took: now.Sub(began), At: now, Own: to.own,
		Text: strings.ToValidUTF8(strings.TrimSpace(string(text)), "\uFFFD"),
	}
	if said.Status >= 200 && said.Status <= 299 {
		switch {
		case batch && err != nil:
			return said, unanswered(err, to.url.Host, said.Took)
		case batch && long:
			return said, fmt.Errorf("%s answered more than %d bytes, so that nobody can tell what it took",
				to.url.Host, maxAnswer)
		}
		return said, nil
	}
	return said, &kind.AnswerError{
		Host: to.url.Host, Status: said.Status, Took: said.Took, Text: said.Text,
		RetryAt: retryAt(answer.Header.Get("Retry-After"), now),
		Own:     to.own,
	}
}

// retryAt reads Retry-After, in seconds or as a date: the zero time where it says nothing that can
// be read. The date is by the endpoint's own clock.
func retryAt(text string, now time.Time) time.Time {
	var at time.Time
	if seconds, err := strconv.ParseUint(strings.TrimSpace(text), 10, 31); err == nil {
		at = now.Add(min(time.Duration(seconds)*time.Second, maxRetryAfter))
	} else if date, err := http.ParseTime(text); err == nil {
		at = date
	}
	if last := now.Add(maxRetryAfter); at.After(last) {
		return last
	}
	if !at.After(now) {
		return time.Time{}
	}
	return at
}
