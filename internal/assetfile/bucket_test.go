package assetfile_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamsort/streamsort/internal/assetfile"
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
	t.Setenv("AWS_REGION", "eu-west-1")
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
}

// A file of a bucket is read in place of the one beside the program, and a change of it is seen
// once.
func TestBucket(t *testing.T) {
	var objects atomic.Pointer[map[string]string]
	objects.Store(&map[string]string{"/files/prod/things.json": `{"things": [{"name": "a"}]}`})
	bucket(t, &objects)
	t.Setenv(assetfile.Variable, "s3://files/prod/")
	got, err := assetfile.Load("nowhere", "things.json", things.Read)
	if err != nil || len(got) != 1 || got[0] != "a" {
		t.Fatalf("%v, %v", got, err)
	}
	if changed, err := assetfile.Changed(t.Context()); changed || err != nil {
		t.Errorf("nothing has changed: %v, %v", changed, err)
	}
	objects.Store(&map[string]string{"/files/prod/things.json": `{"things": [{"name": 7}]}`})
	for _, want := range []bool{true, false} {
		if changed, err := assetfile.Changed(t.Context()); changed != want || err != nil {
			t.Errorf("changed: %v, want %v; %v", changed, want, err)
		}
	}
	// What is wrong in it is named as in any file, with its address. It is not read again for that:
	// each who asks for a file has the one that was seen.
	objects.Store(&map[string]string{"/files/prod/things.json": `{"things": [{"name": 8}]}`})
	want := "s3://files/prod/things.json: things[0].name must be a string: it is 7"
	if _, err := assetfile.Load("nowhere", "things.json", things.Read); err == nil ||
		err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	objects.Store(&map[string]string{})
	if changed, err := assetfile.Changed(t.Context()); changed || err == nil {
		t.Errorf("changed: %v, error %v: want one", changed, err)
	}
	for prefix, want := range map[string]string{
		"s3://files/test/": "s3://files/test/things.json, which STREAMSORT_CONFIG names, cannot be read; upload it, and let the function's role read it: ",
		"files":            `"filesthings.json" must be like s3://BUCKET/PREFIX/`,
	} {
		t.Setenv(assetfile.Variable, prefix)
		if _, err := assetfile.Load("nowhere", "things.json", things.Read); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", prefix, err, want)
		}
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
	load := func() error {
		_, err := assetfile.Load("nowhere", "things.json", things.Read)
		return err
	}
	if err := load(); err != nil {
		t.Fatal(err)
	}
	look := func(ctx context.Context, want string) {
		t.Helper()
		if changed, err := assetfile.Changed(ctx); changed || err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("changed %v, %v; want %q", changed, err, want)
		}
		if err := load(); err != nil {
			t.Errorf("%s: what was read is lost: %v", want, err)
		}
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
			if look(ctx, "context deadline exceeded"); time.Since(began) != want {
				t.Errorf("of %v it took %v, want %v", invocation, time.Since(began), want)
			}
		})
	}
}

// silent never answers.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}
