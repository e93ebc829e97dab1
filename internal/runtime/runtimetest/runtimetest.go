// Package runtimetest is what the tests of several functions need: what every function's start has
// to do, tables in memory, and callers.
package runtimetest

import (
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/httpapi/httpapitest"
	"github.com/streamsort/streamsort/internal/quota"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// Starts holds that a function starts where these tables' variables are set, as MESSAGES of
// STREAMSORT_MESSAGES_TABLE, and no others; and that the error of one that is not set names it.
// There is nothing at any endpoint: a function that made a request would not start.
func Starts(t *testing.T, newHandler func(*runtime.Deps) (runtime.Handler, error),
	tables ...string) {
	t.Helper()
	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
	for _, table := range tables {
		t.Setenv("STREAMSORT_"+table+"_TABLE", "some")
	}
	if handler, err := runtime.New(io.Discard, newHandler); err != nil || handler == nil {
		t.Errorf("it does not start: %v", err)
	}
	for _, table := range tables {
		variable := "STREAMSORT_" + table + "_TABLE"
		t.Setenv(variable, "")
		if _, err := runtime.New(io.Discard, newHandler); err == nil ||
			!strings.Contains(err.Error(), variable+" is not set") {
			t.Errorf("without %s: error %v", variable, err)
		}
		t.Setenv(variable, "some")
	}
}

// Logs has what is logged during the test written to out.
func Logs(t *testing.T, out io.Writer) {
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(out, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
}

// Tables are a sorter's tables in memory.
func Tables() *ddb.Memory {
	names := cursor.Names{}
	return ddb.NewMemory(append(names.Tables(), names.ArrivalsTable())...)
}

// Sorter is a Sorter on such tables.
func Sorter(tables ddb.Engine, o *cursor.Options) *cursor.Sorter {
	return check.Get(cursor.New(check.Get(cursor.NewStore(tables, cursor.Names{})), o))
}

// Counters is the table that has what tenants took.
var Counters = trouble.Definition(trouble.DefaultName)

// Quotas are quotas whose counters are in memory.
func Quotas(now func() time.Time, all ...quota.Quota) *quota.Keeper {
	return quota.NewKeeper(quota.NewStore(ddb.NewMemory(Counters), Counters), all, now)
}

// Ask is the answer to a request of the tenant acme, whose claim is org, whatever is asked: it is
// no function error, and its status is from 200 to 499.
func Ask(t *testing.T, handle httpapitest.Handler, method, resource, query, body string,
	headers map[string]string) string {
	t.Helper()
	headers["content-type"] = "application/json"
	answer, err := handle(t.Context(), check.Get(json.Marshal(map[string]any{
		"rawPath": "/" + resource, "rawQueryString": query, "body": body, "headers": headers,
		"requestContext": map[string]any{
			"http":       map[string]any{"method": method},
			"authorizer": map[string]any{"jwt": map[string]any{"claims": map[string]string{"org": "acme"}}},
		},
	})))
	var got struct{ StatusCode int }
	check.That(t, err == nil && json.Unmarshal(answer, &got) == nil && got.StatusCode >= 200 &&
		got.StatusCode < 500, "%s, %v", answer, err)
	return string(answer)
}

// Listed are the rows of all pages of a list, from the first one on.
func Listed[Row any](t *testing.T, page func(after string) httpapitest.Answer) (all []Row) {
	t.Helper()
	after := ""
	for range 100 {
		var got struct {
			List []Row
			Next string
		}
		a := page(after)
		check.Need(t, a.Status == 200 && json.Unmarshal([]byte(a.Body), &got) == nil, "%+v", a)
		if all, after = append(all, got.List...), got.Next; after == "" {
			return all
		}
	}
	t.Fatal("the pages do not end")
	return nil
}
