package sink

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/streamsort/streamsort/internal/sink/eventbridge"
	"github.com/streamsort/streamsort/internal/sink/fifo"
	"github.com/streamsort/streamsort/internal/sink/httpsink"
	"github.com/streamsort/streamsort/internal/sink/kind"
	"github.com/streamsort/streamsort/internal/sink/lambda"
	"github.com/streamsort/streamsort/internal/sink/s3"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/invalid"
)

// kinds are all kinds of sink. A new one is a folder here, and a line.
var kinds = []kind.Kind{
	lambda.Kind,
	fifo.SQS,
	fifo.SNS,
	eventbridge.Kind,
	httpsink.Kind,
	s3.Kind,
}

// Kinds are all kinds of sink.
func Kinds() []kind.Kind { return slices.Clone(kinds) }

// KindOf is the kind of a name. The error begins with the member "kind", and names those that are
// known.
func KindOf(name string) (kind.Kind, error) {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		if k.Name == name {
			return k, nil
		}
		names[i] = k.Name
	}
	last := len(names) - 1
	known := strings.Join(names[:last], ", ") + " or " + names[last]
	if name == "" {
		return kind.Kind{}, invalid.New(invalid.Missing, "kind", "is missing: it must be "+known)
	}
	return kind.Kind{}, invalid.New(invalid.Unknown, "kind",
		fmt.Sprintf("%q is not known: it must be %s", kind.Bounded(name), known))
}

// Config says which sink. In JSON it is read strictly: unknown members, and values out of their
// bounds, are errors that name the field. Its member "kind" is the name of a kind, which says what
// other members there are.
type Config struct{ settings kind.Settings }

// UnmarshalJSON implements json.Unmarshaler.
func (c *Config) UnmarshalJSON(raw []byte) error {
	members, err := strictjson.Members(raw)
	if err != nil {
		return err
	}
	name := ""
	if text := strictjson.Get(members, "kind"); text != nil {
		if name, err = strictjson.Text(text); err != nil {
			return invalid.Named("kind", err)
		}
	}
	of, err := KindOf(name)
	if err == nil {
		c.settings, err = of.Read(raw)
	}
	return err
}

// Defaults sets what the kind of sink asks of its reader, where nothing else is said. The error
// names what of the reader the kind does not do.
func (c Config) Defaults(r *delivery.Reader) error {
	if of, has := c.settings.(interface{ Defaults(*delivery.Reader) error }); has {
		return of.Defaults(r)
	}
	return nil
}

// IsZero reports whether the configuration says nothing.
func (c Config) IsZero() bool { return c.settings == nil }

// New returns the sink of a configuration, whose requests a transport like http.DefaultTransport
// makes, of its own, where none is given. It makes no request. Where AWS is and who we are there
// is read from the environment, as package awsenv does: AWS_ENDPOINT_URL_LAMBDA, _SQS, _SNS,
// _EVENTBRIDGE or _S3, else AWS_ENDPOINT_URL. The region is that of the ARN.
func New(config Config, given kind.Options) (kind.Sink, error) {
	if config.IsZero() {
		_, err := KindOf("")
		return nil, err
	}
	if given.Transport == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.MaxIdleConnsPerHost = 64 // queues are delivered in parallel
		given.Transport = transport
	}
	return config.settings.Open(given)
}
