//go:build whole

package languages_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/progress"
	"github.com/streamsort/streamsort/localstack"
)

// index is a search index that takes documents by their version, as OpenSearch does with
// version_type=external. The response of its first put is lost.
type index struct {
	mu       sync.Mutex
	lost     bool
	versions map[string]int64
	bodies   map[string]string
}

func (x *index) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x.mu.Lock()
	defer x.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	version, notNumber := strconv.ParseInt(r.URL.Query().Get("version"), 10, 64)
	id, known := strings.CutPrefix(r.URL.Path, "/orders/_doc/")
	switch {
	case err != nil || notNumber != nil || !known || r.Method != http.MethodPut ||
		r.URL.Query().Get("version_type") != "external":
		w.WriteHeader(http.StatusBadRequest)
	case version <= x.versions[id]:
		w.WriteHeader(http.StatusConflict)
	default:
		x.versions[id], x.bodies[id] = version, string(body)
		if !x.lost {
			x.lost = true
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}
}

const (
	orders = 3
	each   = 10
)

// TestPythonAndNodeConsumers runs both behind the stack's own process: each order's messages, which
// come in backwards, are answered once, in order, and the index has the latest of each. One that
// the consumer cannot take fails, and says why.
func TestPythonAndNodeConsumers(t *testing.T) {
	x := &index{versions: map[string]int64{}, bodies: map[string]string{}}
	server := httptest.NewServer(x)
	defer server.Close()
	config := localstack.Config{
		Env:    map[string]string{"search.INDEX_URL": server.URL + "/", "STREAMSORT_EVENT_BUS": ""},
		Logger: slog.New(slog.DiscardHandler),
	}
	for _, text := range []string{"receipts=python/receipts.py", "search=node/search.mjs"} {
		consumer := check.Get(localstack.ParseConsumer(text))
		consumer.Prefix = "order/"
		config.Consumers = append(config.Consumers, consumer)
	}
	stack, err := localstack.Run(t.Context(), config)
	check.OK(t, err)
	defer stack.Close()
	for seq := each; seq > 0; seq-- {
		for order := range orders {
			body := fmt.Sprintf(`{"cents": %d}`, seq*100) // with white space: it comes in base64
			if order == 0 {
				body = fmt.Sprintf(`{"cents":%d}`, seq*100)
			}
			ask(t, http.MethodPost, stack.URL()+"/messages",
				fmt.Sprintf(`{"queue":"order/%d","seq":%d,"body":%s}`, order, seq, body))
		}
	}
	ask(t, http.MethodPost, stack.URL()+"/messages",
		`{"queue":"order/bad","seq":1,"body":{"cents":"canary"}}`)

	var receipts map[string][]int64
	wait := progress.Wait{Total: orders*each + 1, What: "messages are done with",
		Patience: time.Minute, Out: t.Output()}
	check.OK(t, wait.Until(t.Context(), func(context.Context) (int, string, error) {
		receipts = answered(t, stack.URL())
		count := 0
		for _, seqs := range receipts {
			count += len(seqs)
		}
		if strings.Contains(ask(t, http.MethodGet,
			stack.URL()+"/consumers?queue=order%2Fbad&consumer=receipts", ""),
			"message 1 of order/bad: cents is missing") {
			count++
		}
		left := ""
		for order := range orders {
			status := ask(t, http.MethodGet,
				fmt.Sprintf("%s/consumers?queue=order%%2F%d&consumer=search", stack.URL(), order), "")
			if !strings.Contains(status, fmt.Sprintf(`"delivered":%d,`, each)) {
				left = status
			}
		}
		return count, left, nil
	}))
	want := map[string][]int64{}
	for order := range orders {
		name := fmt.Sprintf("order/%d", order)
		for seq := range int64(each) {
			want[name] = append(want[name], seq+1)
		}
		got := x.bodies[name]
		check.That(t, strings.Contains(got, "1000"), "the index has %s of %s", got, name)
	}
	check.Is(t, cmp.Diff(want, receipts), "")
}

// answered are the seqs that have a receipt, by their orders.
func answered(t *testing.T, url string) map[string][]int64 {
	t.Helper()
	var page struct {
		Messages []struct{ BodyBase64 []byte } // Python's JSON has white space in it
	}
	if err := json.Unmarshal([]byte(ask(t, http.MethodGet, url+"/messages?queue=receipts&after=0",
		"")), &page); err != nil {
		t.Fatal(err)
	}
	all := map[string][]int64{}
	for _, m := range page.Messages {
		var receipt struct {
			Order      string
			Seq, Cents int64
		}
		err := json.Unmarshal(m.BodyBase64, &receipt)
		check.That(t, err == nil && receipt.Cents == 100*receipt.Seq, "%+v %v", receipt, err)
		all[receipt.Order] = append(all[receipt.Order], receipt.Seq)
	}
	return all
}

func ask(t *testing.T, method, url, body string) string {
	t.Helper()
	request := check.Get(http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body)))
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	check.OK(t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	check.Need(t, err == nil && response.StatusCode < http.StatusInternalServerError,
		"%s %s: %d %s %v", method, url, response.StatusCode, text, err)
	return string(text)
}
