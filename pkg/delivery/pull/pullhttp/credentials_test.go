package pullhttp_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/delivery/pull"
	"github.com/streamsort/streamsort/pkg/delivery/pull/pullhttp"
)

// role gives out credentials as the server of a container's role does, the next ones for
// each question. They say that they are about to run out, and are good for one request.
type role struct {
	mu          sync.Mutex
	given, used int
}

func (r *role) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.given++
	_, _ = fmt.Fprintf(w, `{"AccessKeyId":"AKID%d","SecretAccessKey":"secret","Token":"token","Expiration":%q}`,
		r.given, time.Now().Add(time.Minute).UTC().Format(time.RFC3339))
}

// accepts reports whether a request is signed with credentials that have not run out.
func (r *role) accepts(request *http.Request) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	good := r.used < r.given && strings.Contains(request.Header.Get("Authorization"), fmt.Sprintf("Credential=AKID%d/", r.given))
	r.used = r.given
	return good
}

// counted is a database that counts the messages it got.
type counted struct{ messages int }

func (*counted) Name() string { return "db" }

func (d *counted) Apply(ctx context.Context, b delivery.Batch, _ int64, prepare func(context.Context) error) error {
	if err := prepare(ctx); err != nil {
		return err
	}
	d.messages += len(b.Messages)
	return nil
}

func (*counted) Settle(context.Context, delivery.Held, int64) (delivery.TokenOutcome, []delivery.Reply, error) {
	return "", nil, fmt.Errorf("nothing is in doubt")
}

func (*counted) Check(context.Context, string, string, int64) error { return nil }

func (*counted) Forget(context.Context, string, string, int64) error { return nil }

// TestConsumeOutlivesItsCredentials: a consumer under a role whose credentials run out
// goes on with the next ones.
func TestConsumeOutlivesItsCredentials(t *testing.T) {
	r := &role{}
	credentials := httptest.NewServer(r)
	t.Cleanup(credentials.Close)
	none := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_PROFILE": "", "AWS_WEB_IDENTITY_TOKEN_FILE": "",
		"AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none, "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "", "AWS_CONTAINER_CREDENTIALS_FULL_URI": credentials.URL,
	} {
		t.Setenv(name, value)
	}
	const batches = 3
	claimed, refused := 0, 0
	ctx, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		switch {
		case !r.accepts(request):
			if refused++; refused == 100 {
				giveUp()
			}
			w.WriteHeader(http.StatusForbidden)
			_, _ = fmt.Fprint(w, `{"message":"The security token included in the request is expired"}`)
		case request.Method == http.MethodPost && claimed == batches:
			_, _ = fmt.Fprint(w, `{"outcome":"EMPTY"}`)
		case request.Method == http.MethodPost:
			claimed++
			_, _ = fmt.Fprintf(w, `{"outcome":"OK","token":"%d-db-r","from":%d,"to":%d,"messages":[{"seq":%d,"body":1}]}`, claimed, claimed, claimed, claimed)
		default:
			_, _ = fmt.Fprintf(w, `{"outcome":"OK","token":"%d-db-r"}`, claimed)
		}
	}))
	t.Cleanup(api.Close)
	claims := check.Get(pullhttp.NewSigned(api.URL, "eu-west-1"))
	db := &counted{}
	err := pull.Consume(ctx, claims, db, "q", "c", &pull.ConsumeOptions{UntilEmpty: true, Beat: -1, Poll: time.Millisecond})
	if err != nil || db.messages != batches || refused > 0 {
		t.Errorf("%d messages, %d requests refused, %v", db.messages, refused, err)
	}
}
