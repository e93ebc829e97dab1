package runtime

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/streamsort/streamsort/internal/assetfile"
)

// A process takes a new configuration within a minute of its upload, and keeps what it had where that
// is wrong.
func TestRenewed(t *testing.T) {
	var file atomic.Value
	file.Store("one")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, file.Load()) }))
	defer server.Close()
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_S3": server.URL, "AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret",
		assetfile.Variable: "s3://files/",
	} {
		t.Setenv(name, value)
	}
	make := func() (lambda.Handler, error) {
		text, _, err := assetfile.Text("", "things.json")
		if string(text) == "wrong" {
			err = fmt.Errorf("%s", text)
		}
		return lambda.NewHandler(func(context.Context) (string, error) { return string(text), nil }), err
	}
	first, err := make()
	if err != nil {
		t.Fatal(err)
	}
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
		if got, err := r.Invoke(t.Context(), []byte("null")); string(got) != `"`+c.want+`"` || err != nil {
			t.Errorf("call %d: %s, %v; want %s", i, got, err, c.want)
		}
	}
}
