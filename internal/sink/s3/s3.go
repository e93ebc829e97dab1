// Package s3 is the kind of sink that is a bucket of S3: a consumer with one is an archive.
// docs/how-to/archive.md shows it to users.
//
// Send puts an object a batch, named by the queue and the range of its seqs; its lines are messages
// in JSON, gzipped. A repeat, be it shorter, puts the same bytes under the same name, or objects
// whose ranges overlap. [Archive.Replay] takes each seq once, and [Archive.Erase] deletes the
// objects of a queue.
//
//	CONSUMER/own/QUEUE/FIRST-LAST.ndjson.gz              of a queue without a tenant
//	CONSUMER/tenants/TENANT/QUEUE/FIRST-LAST.ndjson.gz
package s3

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"

	"github.com/aws/aws-sdk-go-v2/aws/arn"

	"github.com/streamsort/streamsort/internal/awscall"
	"github.com/streamsort/streamsort/internal/sink/kind"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// Name is what a configuration calls the kind.
const Name = "s3"

// Kind is a bucket of S3.
var Kind = kind.Kind{Name: Name, Example: "arn:aws:s3:::orders-archive",
	Action: "s3:PutObject", Read: read}

const looks = "arn:aws:s3:::BUCKET"

type settings struct {
	Kind string `json:"kind"`
	// ARN is the bucket's; empty where the CDK makes one.
	ARN string `json:"arn"`
}

func read(raw json.RawMessage) (kind.Settings, error) {
	var s settings
	if err := strictjson.Decode(raw, &s); err != nil {
		return nil, err
	}
	if s.ARN != "" {
		if _, err := bucketOf(s.ARN); err != nil {
			return nil, err
		}
	}
	return s, nil
}

var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

func bucketOf(text string) (string, error) {
	bucket, err := arn.Parse(text)
	switch {
	case text == "":
		return "",
			invalid.New(invalid.Missing, "arn", "is missing: there is no bucket; it must be like "+looks)
	case err != nil || bucket.Service != "s3" || bucket.Region+bucket.AccountID != "" ||
		!bucketName.MatchString(bucket.Resource):
		return "", invalid.New(invalid.Malformed, "arn",
			fmt.Sprintf("%q is the ARN of no bucket: it must be like %s", kind.Bounded(text), looks))
	}
	return bucket.Resource, nil
}

// span is how many seqs a batch has at most, skipped ones among them.
const span = 1000

// Defaults has the reader's batches be as large as they may, where nothing else is said: each
// object costs a request.
func (s settings) Defaults(r *delivery.Reader) error {
	if r.Track > 0 {
		return invalid.New(invalid.Clash, "track",
			"must not be given with a sink of the kind s3: a bucket reports no work as done")
	}
	if r.MaxMessages == 0 {
		r.MaxMessages = span
	}
	return nil
}

func (s settings) Open(o kind.Options) (kind.Sink, error) {
	return open(s.ARN, awscall.Options{Transport: o.Transport, Timeout: kind.RequestTimeout})
}

type bucket struct {
	*awscall.Bucket
	name string
}

func open(text string, o awscall.Options) (bucket, error) {
	name, err := bucketOf(text)
	if err != nil {
		return bucket{}, err
	}
	b, err := awscall.NewBucket(name, o)
	return bucket{b, name}, err
}

func (b bucket) Send(ctx context.Context, batch delivery.Batch) error {
	object, err := encode(batch)
	if err != nil {
		return err
	}
	return b.explain(b.Put(ctx, key(batch.Consumer, batch.Queue, batch.From+1, batch.To),
		"application/gzip", object))
}

// explain names the bucket in an error, and says what S3 does not: that it is elsewhere.
func (b bucket) explain(err error) error {
	var answer *awscall.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &answer) &&
		(answer.Status == http.StatusMovedPermanently || answer.Code == "AuthorizationHeaderMalformed"):
		return fmt.Errorf("bucket %s is in another region: use one of the stack's region: %w", b.name,
			err)
	}
	return fmt.Errorf("bucket %s: %w", b.name, err)
}
