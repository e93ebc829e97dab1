package assetfile_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/assetfile"
	"github.com/streamsort/streamsort/internal/dev/check"
)

// bucket answers for S3 with the objects of a bucket, by their paths; it is the environment's.
func bucket(t *testing.T, objects *atomic.Pointer[map[string]string]) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, there := (*objects.Load())[r.URL.Path]
		if !there {
			w.WriteHeader(http.StatusForbidden)
			text = "<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
		}
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(server.Close)
	t.Setenv("AWS_ENDPOINT_URL_S3", server.URL)
}

// A file of a bucket is read in place of the one beside the program, and a change of it is seen
// once.
func TestBucket(t *testing.T) {
	var objects atomic.Pointer[map[string]string]
	objects.Store(&map[string]string{"/files/prod/things.json": `{"things": [{"name": "a"}]}`})
	bucket(t, &objects)
	t.Setenv(assetfile.Variable, "s3://files/prod/")
	got := check.Get(assetfile.Load("nowhere", "things.json", things.Read))
	check.Need(t, len(got) == 1 && got[0] == "a", "%v", got)
	check.Is(t, check.Get(assetfile.Changed(t.Context())), false)
	objects.Store(&map[string]string{"/files/prod/things.json": `{"things": [{"name": 7}]}`})
	for _, want := range []bool{true, false} {
		check.Is(t, check.Get(assetfile.Changed(t.Context())), want)
	}
	// What is wrong in it is named as in any file, with its address. It is not read again for that:
	// each who asks for a file has the one that was seen.
	objects.Store(&map[string]string{"/files/prod/things.json": `{"things": [{"name": 8}]}`})
	check.Is(t, fmt.Sprint(check.Err(assetfile.Load("nowhere", "things.json", things.Read))),
		"s3://files/prod/things.json: things[0].name must be a string: it is 7")
	objects.Store(&map[string]string{})
	changed, err := assetfile.Changed(t.Context())
	check.That(t, !changed && err != nil, "changed: %v, error %v: want one", changed, err)
	for prefix, want := range map[string]string{
		"s3://files/test/": "s3://files/test/things.json, which STREAMSORT_CONFIG names, cannot be read; upload it, and let the function's role read it: ",
		"files":            `"filesthings.json" must be like s3://BUCKET/PREFIX/`,
	} {
		t.Setenv(assetfile.Variable, prefix)
		check.Says(t, check.Err(assetfile.Load("nowhere", "things.json", things.Read)), want, prefix)
	}
}

// A file that is too large, or that the bucket does not send, is an error and no change; a look at
// it leaves the invocation its time.
func TestLookIsBounded(t *testing.T) {
	var objects atomic.Pointer[map[string]string]
	const path, whole = "/files/bounds/things.json", `{"things": [{"name": "a"}]}`
	objects.Store(&map[string]string{path: whole})
	bucket(t, &objects)
	t.Setenv(assetfile.Variable, "s3://files/bounds/")
	load := func() { check.Get(assetfile.Load("nowhere", "things.json", things.Read)) }
	load()
	look := func(ctx context.Context, want string) {
		t.Helper()
		changed, err := assetfile.Changed(ctx)
		check.Says(t, err, want, changed)
		check.Is(t, changed, false)
		load() // what was read is not lost
	}
	objects.Store(&map[string]string{path: whole + strings.Repeat(" ", 1<<20)})
	look(t.Context(), "s3://files/bounds/things.json: the answer has more than 1048576 bytes")
	before := http.DefaultTransport
	http.DefaultTransport = silent{}
	defer func() { http.DefaultTransport = before }()
	for invocation, want := range map[time.Duration]time.Duration{time.Minute: 2 * time.Second,
		4 * time.Second: time.Second} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), invocation)
			defer cancel()
			began := time.Now()
			look(ctx, "context deadline exceeded")
			check.Is(t, time.Since(began), want, invocation)
		})
	}
}

// silent never answers.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}
