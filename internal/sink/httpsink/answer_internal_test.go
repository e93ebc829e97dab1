package httpsink

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/sink/kind"
)

// TestWhoseWords: what an endpoint says is its tenant's to read where it is the tenant's own, and
// else the operator's.
func TestWhoseWords(t *testing.T) {
	for _, own := range []bool{true, false} {
		to := target{url: &url.URL{Host: "billing.example"}, own: own}
		answer := &http.Response{StatusCode: 500,
			Body: io.NopCloser(strings.NewReader("the inner words"))}
		said, err := readAnswer(answer, to, false, time.Time{}, func() time.Time { return time.Time{} })
		var failed *kind.AnswerError
		check.That(t, errors.As(err, &failed) && said.Own == own &&
			strings.Contains(failed.Shown(), "inner") == own &&
			strings.Contains(err.Error(), ": the inner words"),
			"own %v: %+v, %v", own, said, err)
		if !strings.HasPrefix(failed.Shown(), "billing.example answered 500") {
			t.Errorf("shown: %s", failed.Shown())
		}
	}
}
