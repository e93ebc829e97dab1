package producer

import (
	"errors"
	"time"

	"github.com/streamsort/streamsort/internal/bounds"
)

// Options are what New can do without. A zero means the default.
type Options struct {
	// Linger is how long a message waits for others of its queue at most: 1 ms to a minute, 10 ms
	// by default. A queue that has waited for half as long goes along with one whose time is over.
	Linger time.Duration
	// Batch is how many messages of a queue a request has at most: 25 to 500, 500 by default. So
	// many do not wait for Linger.
	Batch int
	// RequestBytes is how many bytes of messages a request has at most: 64 KiB to 4 MiB, 480 KiB by
	// default, since API Gateway counts a request once for each 512 KB. A larger message goes
	// alone.
	RequestBytes int
	// Requests is how many requests are under way at most: 2 to 256, 16 by default.
	Requests int
	// RequestTimeout is how long an answer is waited for: 1 to 40 seconds, 15 seconds by default.
	// The request is made again then.
	RequestTimeout time.Duration
	// MinBackOff is the wait before a queue's first repeat, and MaxBackOff what it grows to, each
	// give or take a half: 1 ms to an hour; 100 ms and 10 seconds by default.
	MinBackOff, MaxBackOff time.Duration
	// GiveUpAfter is for how long a message is tried, from Send on: after that, its next failure is
	// its last, with [ErrGaveUp]. 0, the default, is for ever.
	GiveUpAfter time.Duration
	// MaxBytes is what all messages that are not answered for have at most: 2 MiB to 64 GiB, 64 MiB
	// by default; and QueueBytes what those of one queue have: 1 MiB to half of MaxBytes, an eighth
	// of it by default. A message counts with its document, and 256 bytes more.
	MaxBytes, QueueBytes int64
}

// Bounds of a message's weight, and of a request.
const (
	overhead     = 256 // what a message takes in memory beside its document, in bytes
	mostMessages = 500
	minBatch     = 25
)

func (o *Options) withDefaults() (Options, error) {
	var given Options
	if o != nil {
		given = *o
	}
	w := given
	var errs []error
	bounded(&errs, "Linger", &w.Linger, 10*time.Millisecond, time.Millisecond, time.Minute)
	bounded(&errs, "Batch", &w.Batch, mostMessages, minBatch, mostMessages)
	bounded(&errs, "RequestBytes", &w.RequestBytes, 480<<10, 64<<10, 4<<20)
	bounded(&errs, "Requests", &w.Requests, 16, 2, 256)
	bounded(&errs, "RequestTimeout", &w.RequestTimeout, 15*time.Second, time.Second, 40*time.Second)
	bounded(&errs, "MinBackOff", &w.MinBackOff, 100*time.Millisecond, time.Millisecond, time.Hour)
	bounded(&errs, "MaxBackOff", &w.MaxBackOff, max(10*time.Second, w.MinBackOff),
		w.MinBackOff, time.Hour)
	bounded(&errs, "GiveUpAfter", &w.GiveUpAfter, 0, 0, 365*24*time.Hour)
	bounded(&errs, "MaxBytes", &w.MaxBytes, 64<<20, 2<<20, 64<<30)
	bounded(&errs, "QueueBytes", &w.QueueBytes, max(w.MaxBytes/8, 1<<20), 1<<20,
		max(w.MaxBytes/2, 1<<20))
	return w, errors.Join(errs...)
}

// bounded puts the default where nothing is given, and notes what is out of its bounds.
func bounded[T ~int | ~int64](errs *[]error, field string, value *T, otherwise, least, most T) {
	if *value == 0 {
		*value = otherwise
		return
	}
	*errs = append(*errs, bounds.Check(field, *value, least, most))
}
