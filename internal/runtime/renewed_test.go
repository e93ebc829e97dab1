package runtime

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/streamsort/streamsort/internal/assetfile"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/emf"
)

// uploaded is the text of each file in a bucket.
func uploaded(t *testing.T, config string) *atomic.Value {
	t.Helper()
	var file atomic.Value
	file.Store("one")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, file.Load())
	}))
	t.Cleanup(server.Close)
	t.Setenv("AWS_ENDPOINT_URL", server.URL)
	t.Setenv(assetfile.Variable, config)
	return &file
}

// A process takes a new configuration within a minute of its upload, and keeps what it had where
// that is wrong.
func TestRenewed(t *testing.T) {
	file := uploaded(t, "s3://files/")
	make := func() (lambda.Handler, error) {
		text, _, err := assetfile.Text("", "things.json")
		if string(text) == "wrong" {
			err = fmt.Errorf("%s", text)
		}
		return lambda.NewHandler(func(context.Context) (string, error) { return string(text), nil }), err
	}
	first, err := make()
	check.OK(t, err)
	now := time.UnixMilli(0)
	r := &renewed{Handler: first, make: make, looked: now, now: func() time.Time { return now }}
	for i, c := range []struct {
		after      time.Duration
		file, want string
	}{
		{0, "one", "one"},
		{59 * time.Second, "two", "one"}, // it has not looked yet
		{time.Second, "two", "two"},
		{time.Minute, "wrong", "two"},
		{time.Minute, "wrong", "two"},
		{time.Minute, "three", "three"},
	} {
		now = now.Add(c.after)
		file.Store(c.file)
		check.Is(t, string(check.Get(r.Invoke(t.Context(), []byte("null")))), `"`+c.want+`"`, "call", i)
	}
}

// A new configuration is no new process: no cold start is counted, and nothing that was counted
// before is lost.
func TestRenewedKeepsCounts(t *testing.T) {
	file := uploaded(t, "s3://counts/")
	for _, table := range []string{"MESSAGES", "CURSORS", "TROUBLE"} {
		t.Setenv("STREAMSORT_"+table+"_TABLE", table)
	}
	var out bytes.Buffer
	now, failed := time.UnixMilli(0), 0
	handler, err := load(emitter(&out, time.Hour), func(d *Deps) (Handler, error) {
		_, _, err := assetfile.Text("", "things.json")
		return Handle(d, time.Second, func(_ context.Context, m *emf.Metrics, _ any) (any, error) {
			m.Count("MessagesStored", 1)
			m.Count("Errors", failed) // which waits for nothing
			return nil, nil
		}), err
	}, func() time.Time { return now })
	check.OK(t, err)
	call := func() { check.Get(handler.(lambda.Handler).Invoke(t.Context(), []byte("null"))) }
	for range 19 {
		call()
	}
	now = now.Add(time.Minute)
	file.Store("two")
	failed = 1
	call()
	stored := 0
	for _, line := range regexp.MustCompile(`"MessagesStored":([0-9]+)`).
		FindAllStringSubmatch(out.String(), -1) {
		n, _ := strconv.Atoi(line[1])
		stored += n
	}
	check.That(t, stored == 20 && strings.Count(out.String(), `"ColdStart":1`) == 1,
		"of 20 calls %d are counted; lines:\n%s", stored, &out)
}
