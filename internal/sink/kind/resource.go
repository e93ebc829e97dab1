package kind

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/arn"

	"github.com/streamsort/streamsort/internal/awscall"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// Resource is a kind whose sinks are resources of AWS: each has an ARN. In a configuration its
// members are
//
//	arn         the sink's
//	maxBytes    bounds one request and one message, where the sink's own bound is not
//	            the usual one: at least 1,024
//	maxEntries  bounds the messages of one request; not there where it has no entries
//	format      cloudevents where each message is sent as one; not there of a kind that has no such format
type Resource struct {
	// Name is what a configuration calls the kind.
	Name string
	// Looks is how its ARNs look, for people: arn:aws:lambda:REGION:ACCOUNT:function:NAME
	Looks string
	// Action is what IAM must allow for one.
	Action string
	// Bytes is how many bytes one request takes, MaxBytes how many it may be configured to take.
	Bytes, MaxBytes int
	// Entries is how many messages one request takes; 0 where it has one document.
	Entries int
	// Events means that messages may be sent as CloudEvents.
	Events bool
	// Open makes the sink of a target; it makes no request.
	Open func(Target, http.RoundTripper) (Sink, error)
}

// Target is one sink, and what a request to it may hold.
type Target struct {
	ARN    arn.ARN
	Limits Limits
	// Events means that messages are sent as CloudEvents.
	Events bool
}

// minBytes is the least that a request may be configured to take.
const minBytes = 1024

// Kind is the resource as a kind of sink.
func (r Resource) Kind() Kind {
	return Kind{
		Name: r.Name, Action: r.Action, Read: r.read,
		Example: strings.NewReplacer("REGION", "us-east-1", "ACCOUNT", "000000000000").Replace(r.Looks),
	}
}

type settings struct {
	Target
	of *Resource
}

func (s settings) Open(options Options) (Sink, error) {
	return s.of.Open(s.Target, options.Transport)
}

type document struct {
	Kind       string `json:"kind"`
	ARN        string `json:"arn"`
	MaxBytes   int    `json:"maxBytes"`
	MaxEntries int    `json:"maxEntries"`
	Format     string `json:"format" one:"cloudevents"`
}

func (r *Resource) read(raw json.RawMessage) (Settings, error) {
	d := document{MaxBytes: r.Bytes, MaxEntries: r.Entries}
	if err := strictjson.Decode(raw, &d); err != nil {
		return nil, err
	}
	arn, err := r.parse(d.ARN)
	switch {
	case err != nil:
		return nil, invalid.Named("arn", err)
	case d.MaxBytes < minBytes || d.MaxBytes > r.MaxBytes:
		return nil, invalid.New(invalid.OutOfRange, "maxBytes",
			fmt.Sprintf("is %d: for %s it must be from %d to %d", d.MaxBytes, r.Name, minBytes, r.MaxBytes))
	case d.MaxEntries > 0 && r.Entries == 0:
		return nil, invalid.New(invalid.Misplaced, "maxEntries",
			fmt.Sprintf("is set: %s has no entries, and takes it not", r.Name))
	case d.Format != "" && !r.Events:
		return nil, invalid.New(invalid.Misplaced, "format",
			fmt.Sprintf("is set: %s has one format alone", r.Name))
	case d.MaxEntries > r.Entries:
		return nil, invalid.New(invalid.OutOfRange, "maxEntries",
			fmt.Sprintf("is %d: it must be from 1 to %d", d.MaxEntries, r.Entries))
	}
	return settings{Target{arn, Limits{r.Name, d.MaxBytes, d.MaxEntries}, d.Format != ""}, r}, nil
}

func (r *Resource) parse(text string) (arn.ARN, error) {
	if text == "" {
		return arn.ARN{}, fmt.Errorf("is missing: it must be like %s", r.Looks)
	}
	looks, err := arn.Parse(r.Looks)
	if err != nil {
		return looks, err
	}
	prefix, suffix, _ := strings.Cut(looks.Resource, "NAME")
	target, err := arn.Parse(text)
	name := strings.TrimSuffix(strings.TrimPrefix(target.Resource, prefix), suffix)
	partition, _ := awscall.Partition(target.Region)
	wrong := ""
	switch {
	case err != nil:
		wrong = "is no ARN"
	case target.Service != looks.Service:
		wrong = fmt.Sprintf("is of the service %q", target.Service)
	case target.Partition == "" || target.Region == "" || target.AccountID == "":
		wrong = "has no partition, region or account"
	case suffix != "" && !strings.HasSuffix(target.Resource, suffix):
		wrong = "is not of a FIFO one"
	case !strings.HasPrefix(target.Resource, prefix) || name == "" ||
		suffix != "" && strings.ContainsAny(name, ":/"):
		wrong = "names something else"
	case target.Partition != partition:
		wrong = fmt.Sprintf("is of the partition %q, and its region of %q", target.Partition, partition)
	default:
		return target, nil
	}
	return target, fmt.Errorf("%q %s: it must be like %s", Bounded(text), wrong, r.Looks)
}
