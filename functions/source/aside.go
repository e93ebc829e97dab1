package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/streamsort/streamsort/internal/announce"
	"github.com/streamsort/streamsort/internal/awscall"
	"github.com/streamsort/streamsort/internal/source"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/tenant"
)

// Bounds of what is sent to the failure queue: a message of SQS had 262,144 bytes at most for long,
// and queues made then have so still; all of a request have together what one may have.
const (
	maxRecord  = 200_000
	maxDetail  = 1_000
	maxRequest = 256_000
	maxEntries = 10
)

const maxExamples = 10

// aside takes records that make no message.
type aside struct {
	source    *source.Source
	url       string
	queue     sender
	announcer announcer
	now       func() time.Time
}

// sender is the client of the failure queue, announcer that of the announcements.
type (
	sender interface {
		SendBatch(ctx context.Context, queueURL string, entries []awscall.Entry) (awscall.Verdicts, error)
	}
	announcer interface {
		Records(ctx context.Context, said announce.SetAside) error
	}
)

const asideTimeout = 3 * time.Second

// newAside returns what sends to the queue of a URL. It makes no request.
func newAside(of *source.Source, url string, announcer announcer) (*aside, error) {
	if url == "" {
		return nil, fmt.Errorf("%s is not set", failureVariable)
	}
	queue, err := awscall.New(awscall.SQS, awscall.Options{Timeout: asideTimeout})
	return &aside{source: of, url: url, queue: queue, announcer: announcer, now: time.Now}, err
}

type document struct {
	// ID is the same however often the record comes.
	ID   string `json:"id"`
	Kind string `json:"kind"`
	// Source is the source's name, SourceKind what its records are.
	Source     string `json:"source"`
	SourceKind string `json:"sourceKind"`
	Reason     string `json:"reason"`
	Field      string `json:"field,omitempty"`
	Detail     string `json:"detail,omitempty"`
	At         string `json:"at"`
	// Name is the record's in its source.
	Name string `json:"name,omitempty"`
	// Record is the record as AWS has it. Where it is too large, or not for a message of SQS,
	// RecordBase64 has its first bytes; Bytes and SHA256 are of all of it.
	Record       json.RawMessage `json:"record,omitempty"`
	RecordBase64 string          `json:"recordBase64,omitempty"`
	Truncated    bool            `json:"truncated,omitempty"`
	Bytes        int             `json:"bytes"`
	SHA256       string          `json:"sha256"`
}

func (a *aside) text(r *source.Record, p poison) (string, error) {
	sum := sha256.Sum256(r.Raw)
	d := document{
		ID: a.id(r), Kind: announce.RecordSetAside, Source: a.source.Name, SourceKind: a.source.Kind,
		Reason: p.reason, Field: p.field, Detail: p.detail[:min(len(p.detail), maxDetail)],
		At: a.now().UTC().Format(time.RFC3339Nano), Name: r.Name(), Bytes: len(r.Raw),
		SHA256: hex.EncodeToString(sum[:]),
	}
	// SQS takes no others in JSON, where those below the space are escaped; U+FFFD is no UTF-8, too.
	// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html
	forSQS := !bytes.ContainsAny(r.Raw, "\uFFFD\uFFFE\uFFFF")
	if len(r.Raw) <= maxRecord && json.Valid(r.Raw) && forSQS {
		d.Record = r.Raw
	} else {
		// Three bytes are four in base64.
		head := r.Raw[:min(len(r.Raw), maxRecord*3/4)]
		d.RecordBase64, d.Truncated = base64.StdEncoding.EncodeToString(head), len(head) < len(r.Raw)
	}
	text, err := strictjson.Marshal(d)
	return string(text), err
}

// id is the record's id as a text of a bounded length.
func (a *aside) id(r *source.Record) string {
	sum := sha256.Sum256([]byte(a.source.Name + "\x00" + string(r.Raw)))
	if name := r.Name(); name != "" && len(name) <= 200 {
		return announce.RecordSetAside + "/" + a.source.Name + "/" + name + "/" +
			hex.EncodeToString(sum[:4])
	}
	return announce.RecordSetAside + "/" + a.source.Name + "/" + hex.EncodeToString(sum[:16])
}

// send sends the records to the failure queue, and returns which of them are there.
//
// Lost response: the record is there twice, under one id. We die right after: the same, since the
// event comes again.
func (a *aside) send(ctx context.Context, event *source.Event, all []poison) []bool {
	sent := make([]bool, len(all))
	var entries []awscall.Entry
	var places []int
	size := 0
	flush := func() {
		if len(entries) == 0 {
			return
		}
		verdicts, err := a.queue.SendBatch(ctx, a.url, entries)
		if err != nil || len(verdicts.Failed) > 0 {
			slog.ErrorContext(ctx, "not set aside", "source", a.source.Name, "records", len(entries),
				"failed", verdicts.Failed, "error", err)
		}
		for _, taken := range verdicts.Successful {
			if i, err := strconv.Atoi(taken.ID); err == nil && i >= 0 && i < len(places) {
				sent[places[i]] = true
			}
		}
		entries, places, size = nil, nil, 0
	}
	for i, p := range all {
		text, err := a.text(&event.Records[p.place], p)
		if err != nil {
			slog.ErrorContext(ctx, "not set aside", "source", a.source.Name, "error", err)
			continue
		}
		if len(entries) == maxEntries || size+len(text) > maxRequest {
			flush()
		}
		entries, places, size = append(entries,
			awscall.Entry{ID: strconv.Itoa(len(entries)), Body: text}), append(places, i), size+len(text)
	}
	flush()
	return sent
}

func (a *aside) announce(ctx context.Context, event *source.Event, all []poison) error {
	if len(all) == 0 {
		return nil
	}
	of, _ := tenant.Split(a.source.Prefix + a.source.Fixed)
	said := announce.SetAside{
		ID: a.id(&event.Records[all[0].place]), Source: a.source.Name, Tenant: of, Count: len(all),
	}
	for _, p := range all[:min(len(all), maxExamples)] {
		said.Examples = append(said.Examples, announce.SetAsideRecord{
			Record: event.Records[p.place].Name(), Reason: p.reason, Field: p.field,
			Detail: p.detail[:min(len(p.detail), maxDetail)],
		})
	}
	return a.announcer.Records(ctx, said)
}
