// Package announce tells people what happens to their queues: each
// announcement is a line in the log and, where a bus is named, an event on
// EventBridge, with source "streamsort" and the announcement's kind as its
// detail type.
//
// An announcement goes out at least once. Its repeats have the same id, by
// which a reader drops them.
package announce

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/streamsort/streamsort/internal/awsenv"
	"github.com/streamsort/streamsort/internal/jsonseq"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// Source is the source of all events.
const Source = "streamsort"

// Announcer hands announcements on.
type Announcer struct {
	bus    string
	client *eventbridge.Client
}

// New returns an Announcer for a bus, which is a name or an ARN; an empty one
// means that announcements are logged only. It makes no request.
func New(bus string) (*Announcer, error) {
	a := &Announcer{bus: bus}
	if bus == "" {
		return a, nil
	}
	s, err := awsenv.Read("EVENTBRIDGE", "")
	if err != nil {
		return nil, err
	}
	a.client = eventbridge.New(eventbridge.Options{
		Region: s.Region, Credentials: s.Credentials, BaseEndpoint: s.Endpoint,
		HTTPClient: &http.Client{Timeout: 10 * time.Second},
	})
	return a, nil
}

// detail is the event as readers see it. Seqs are strings where JSON readers
// would round them.
type detail struct {
	ID      string      `json:"id"`
	Kind    string      `json:"kind"`
	Queue   string      `json:"queue"`
	After   jsonseq.Seq `json:"missingAfter"`
	UpTo    jsonseq.Seq `json:"missingUpTo"`
	Parked  jsonseq.Seq `json:"parked"`
	Since   *time.Time  `json:"since,omitempty"`
	Seconds float64     `json:"ageSeconds,omitempty"`
}

// Announce hands one announcement on. Lost response: it goes out twice, under
// the same id. We die right after: the next run of the sweep repeats it.
func (a *Announcer) Announce(ctx context.Context, said cursor.Announcement) error {
	d := detail{
		ID: said.ID, Kind: string(said.Kind), Queue: said.Queue,
		After: jsonseq.Seq(said.Missing.From), UpTo: jsonseq.Seq(said.Missing.To), Parked: jsonseq.Seq(said.Parked),
		Seconds: said.Age.Seconds(),
	}
	if !said.Since.IsZero() {
		d.Since = &said.Since
	}
	slog.WarnContext(ctx, d.Kind, "id", d.ID, "queue", d.Queue, "missingAfter", d.After, "missingUpTo", d.UpTo,
		"parked", d.Parked, "ageSeconds", d.Seconds)
	if a.client == nil {
		return nil
	}
	text, err := json.Marshal(d)
	if err != nil {
		return err
	}
	out, err := a.client.PutEvents(ctx, &eventbridge.PutEventsInput{Entries: []types.PutEventsRequestEntry{{
		EventBusName: &a.bus,
		Source:       aws.String(Source),
		DetailType:   &d.Kind,
		Detail:       aws.String(string(text)),
	}}})
	if err != nil {
		return fmt.Errorf("put event on bus %s: %w", a.bus, err)
	}
	var errs []error
	for _, entry := range out.Entries {
		if entry.ErrorCode != nil {
			errs = append(errs, fmt.Errorf("bus %s refused the event: %s: %s", a.bus, *entry.ErrorCode, aws.ToString(entry.ErrorMessage)))
		}
	}
	return errors.Join(errs...)
}
