package assetfile_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

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

// A file of a bucket is read in place of the one beside the program, and a change of it is seen once.
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
	// What is wrong in it is named as in any file, with its address.
	want := "s3://files/prod/things.json: things[0].name must be a string: it is 7"
	if _, err := assetfile.Load("nowhere", "things.json", things.Read); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	objects.Store(&map[string]string{})
	if changed, err := assetfile.Changed(t.Context()); changed || err == nil {
		t.Errorf("changed: %v, error %v: want one", changed, err)
	}
	for prefix, want := range map[string]string{
		"s3://files/prod/": "s3://files/prod/things.json, which STREAMSORT_CONFIG names, cannot be read; upload it, and let the function's role read it: ",
		"files":            `"filesthings.json" must be like s3://BUCKET/PREFIX/`,
	} {
		t.Setenv(assetfile.Variable, prefix)
		if _, err := assetfile.Load("nowhere", "things.json", things.Read); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", prefix, err, want)
		}
	}
}
