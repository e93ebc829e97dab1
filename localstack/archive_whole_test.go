//go:build whole

package localstack

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/awscall"
	"github.com/streamsort/streamsort/internal/dev/await"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/internal/request"
	"github.com/streamsort/streamsort/internal/sink/s3"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// loseTwo has a recorder lose the answers to the first two objects of several messages that are
// stored: it says that they were not allowed. One of a single message comes again under its key.
func loseTwo(r *recorder, lost *atomic.Int32) {
	passed := r.Config.Handler
	r.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		answer := httptest.NewRecorder()
		passed.ServeHTTP(answer, request)
		var first, to int64
		_, _ = fmt.Sscanf(path.Base(request.URL.Path), "%d-%d.ndjson.gz", &first, &to) // else 0
		if request.Method == http.MethodPut && answer.Code == http.StatusOK && first < to &&
			lost.Add(1) <= 2 {
			answer.Code, answer.Body = http.StatusForbidden,
				bytes.NewBufferString("<Error><Code>AccessDenied</Code></Error>")
		}
		w.WriteHeader(answer.Code)
		_, _ = answer.Body.WriteTo(w)
	})
}

// TestArchive: what was put out of order is archived in order; messages do not expire while the
// archive lags; a repeat is put in objects that overlap, and replayed once; erasing the queue
// erases its objects.
func TestArchive(t *testing.T) {
	const bucketARN = "arn:aws:s3:::books"
	const consumers = `{"consumers":[{"name":"archive","retries":["100ms"],"circuit":{"off":true},"sink":{"kind":"s3","arn":"` + bucketARN + `"}}]}`
	front := newRecorder(t)
	var stored atomic.Int32
	loseTwo(front, &stored)
	s := run(t, Config{Templates: []string{"../examples/demo/streamsort.patch.json"}, Services: true,
		Env: map[string]string{
			"ProcessFunction.STREAMSORT_CONSUMERS": consumers, "SweepFunction.STREAMSORT_READERS": consumers,
			"ProcessFunction.AWS_ENDPOINT_URL_S3": front.URL, "SweepFunction.STREAMSORT_EVENT_BUS": "", "SweepFunction.STREAMSORT_FULL_SWEEP_EVERY": "1s",
		}})
	front.forward(t, s.services.Endpoint)
	t.Setenv("AWS_ENDPOINT_URL_S3", s.services.Endpoint)
	client := database(t, s)
	store, sorter := sorterOf(t, s, nil)

	// 1,000 messages out of order, the first of which is about to expire, and no bucket.
	const last = 1000
	soon := time.Now().Add(time.Hour)
	check.Get(store.Requests(queuelog.Inside{}).PutMessage(t.Context(), cursor.Message{
		Queue: "orders", Seq: 1, ID: "id 1", Body: []byte(`{"n":1}`), Digest: make([]byte, 16),
		Op: make([]byte, 8), EnqueuedAt: time.Now(), ExpiresOn: soon,
	}))
	order := rand.New(rand.NewPCG(1, 2)).Perm(last - 1)
	for len(order) > 0 {
		var group []cursor.Message
		for _, i := range order[:min(25, len(order))] {
			group = append(group, cursor.Message{Queue: "orders", Seq: int64(i + 2),
				ID: fmt.Sprint("id ", i+2), Body: fmt.Appendf(nil, `{"n":%d}`, i+2)})
		}
		results := sorter.Put(t.Context(), group...)
		check.OK(t, results[0].Err)
		for _, r := range results {
			check.Need(t, r.Err == nil, "%v", r.Err)
		}
		order = order[len(group):]
	}
	await.True(t, "the message that the archive lacks to be kept", func() bool {
		sweep(t, s)
		m, there, err := store.Requests(queuelog.Inside{}).Message(t.Context(), "orders", 1)
		check.Need(t, err == nil && there, "message 1 is there: %v, %v", there, err)
		return m.ExpiresOn.After(soon.Add(24 * time.Hour))
	})

	check.Get(s.services.Request(t.Context(), "s3", http.MethodPut, "/books", nil))
	bucket, err := awscall.NewBucket("books", awscall.Options{})
	check.OK(t, err)
	list := func(prefix string) (keys []string) {
		t.Helper()
		objects, more, err := bucket.List(t.Context(), prefix, "")
		check.Need(t, err == nil && !more, "%v %v", more, err)
		for _, o := range objects {
			keys = append(keys, o.Key)
		}
		return keys
	}
	const folder = "archive/own/orders/"
	await.True(t, "all to be archived", func() bool {
		sweep(t, s)
		c, err := delivery.NewDynamo(client, delivery.Names{}).Requests(request.Inside{}).
			Consumer(t.Context(), "orders", "archive")
		return err == nil && c.Delivered == last
	})
	keys := list(folder)
	check.That(t, stored.Load() >= 3, "%d objects were stored", stored.Load())
	overlaps, next := 0, int64(1)
	for _, key := range keys {
		var first, to int64
		_, err := fmt.Sscanf(strings.TrimPrefix(key, folder), "%d-%d.ndjson.gz", &first, &to)
		check.Need(t, err == nil, "%s: %v", key, err)
		check.That(t, first <= next, "%s begins behind a hole: %d is in no object", key, next)
		if first < next {
			overlaps++
		}
		next = max(next, to+1)
	}
	check.That(t, overlaps != 0 && next == last+1, "%d overlaps, up to %d: %v", overlaps, next-1, keys)

	archive, err := s3.NewArchive("archive", bucketARN, awscall.Options{})
	check.OK(t, err)
	replayed := 0
	if err := archive.Replay(t.Context(), sorter,
		s3.Range{Queue: "orders", From: 1, To: last, Into: "again"}, func(done s3.Replayed) error {
			replayed += done.Messages
			return nil
		}); err != nil || replayed != last {
		t.Fatalf("%d replayed, %v", replayed, err)
	}
	seq := int64(0)
	for m, err := range sorter.Read(t.Context(), "again", 0, last) {
		seq++
		check.Need(t, err == nil && m.Seq == seq && m.ID == fmt.Sprint("id ", seq) &&
			bytes.Equal(m.Body, fmt.Appendf(nil, `{"n":%d}`, seq)), "message %d is %+v, %v", seq, m, err)
	}
	check.Is(t, seq, last)

	status, answer := fetch[map[string]any](t, http.MethodDelete,
		s.URL()+"/queues?queue=orders&reason=trial", "")
	check.Need(t, status < 300, "%d %v", status, answer)
	await.True(t, "the objects to be erased, and no other queue's", func() bool {
		sweep(t, s)
		return len(list(folder)) == 0 && len(list("archive/own/again/")) > 0
	})
}
