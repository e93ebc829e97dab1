package dedup_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/pkg/dedup"
)

// bare is a codec of bytes that copies nothing.
type bare struct{}

func (bare) Name() string                      { return "bare" }
func (bare) Marshal(value any) ([]byte, error) { return value.([]byte), nil }
func (bare) Unmarshal(data []byte, into any) error {
	*into.(*[]byte) = data
	return nil
}

// TestNobodyChangesWhatIsRemembered: callers may do with their result what they
// like, also where the codec copies nothing: the next ones get what the first
// one got.
func TestNobodyChangesWhatIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := check.Get(
			dedup.New(dedup.NewMemory(), "p", &dedup.Options[string, []byte]{Codec: bare{}, CacheSize: 10}))
		release := make(chan struct{})
		call := func() {
			out, err := d.Once(t.Context(), "a", func(context.Context) ([]byte, error) { <-release; return []byte("first"), nil })
			check.That(t, err == nil && string(out.Value) == "first",
				"%q, %v; want what the first call got", out.Value, err)
			copy(out.Value, "other")
		}
		for range 5 { // one owner, the others wait for it in this process
			go call()
		}
		synctest.Wait()
		close(release)
		synctest.Wait()
		call() // from the cache
	})
}

// TestResultTooLargeToUnpack: a result that is small when it is compressed, and
// larger than what is ever unpacked, is omitted. It must not be stored as
// something that no duplicate can read.
func TestResultTooLargeToUnpack(t *testing.T) {
	d := process(t, dedup.NewMemory(), nil)
	large := strings.Repeat("x", 64<<20)
	check.Is(t, len(check.Get(d.Once(t.Context(), "a", func(context.Context) (string, error) { return large, nil })).Value), len(large))
	out := check.Get(d.Once(t.Context(), "a", never(t)))
	check.That(t, out.Omitted && out.Replayed, "omitted %v, replayed %v", out.Omitted, out.Replayed)
	fits := large[:64<<20-2] // and its quotes
	for range 2 {
		out := check.Get(d.Once(t.Context(), "b", func(context.Context) (string, error) { return fits, nil }))
		check.That(t, out.Value == fits, "%d bytes, omitted %v", len(out.Value), out.Omitted)
	}
}
