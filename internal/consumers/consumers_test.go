package consumers_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/consumers"
	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/sink"
	"github.com/streamsort/streamsort/pkg/delivery"
)

const queueARN = "arn:aws:sqs:eu-west-1:123456789012:billing.fifo"

func none(string) (string, bool) { return "", false }

func TestTenantsPrefixes(t *testing.T) {
	for _, prefix := range []string{"@", "@acme/", "@acme/orders", "a@b"} {
		check.Get(consumers.Read([]byte(`{"consumers":[{"name":"a","prefix":"`+prefix+`"}]}`), nil))
	}
}

// config is a sink's configuration.
func config(t *testing.T, raw string) (c sink.Config) {
	t.Helper()
	check.OK(t, json.Unmarshal([]byte(raw), &c))
	return c
}

func TestRead(t *testing.T) {
	got, err := consumers.Read([]byte(`{"consumers": [
		{"name": "billing", "sink": {"kind": "sqs", "arn": "`+queueARN+`", "maxEntries": 1}},
		{"name": "search", "start": "latest", "prefix": "shop/", "eager": true, "maxMessages": 10, "maxBytes": 1000000, "maxAttempts": 3, "blockAfter": "2h", 
		 "sink": {"kind": "lambda", "arn": "${STREAMSORT_SINK_1}"}},
		{"name": "books"},
		{"name": "brittle", "circuit": {"queues": 5, "probes": ["1s", "1m"], "wakeRate": 20}},
		{"name": "many", "circuit": {"off": true}},
		{"name": "words", "track": "15m", "retries": ["500ms", "1h"], "sink": {"kind": "sqs", "arn": "`+queueARN+`"}},
		{"name": "late", "start": 7, "sink": {"kind": "sqs", "arn": "`+queueARN+`"}}
	]}`), func(name string) (string, bool) {
		return "arn:aws:lambda:eu-west-1:123456789012:function:f", name == consumers.Variable(1)
	})
	check.OK(t, err)
	want := []consumers.Consumer{
		{Reader: delivery.Reader{Name: "billing"}, Sink: config(t, `{"kind":"sqs","arn":"`+queueARN+`","maxEntries":1}`)},
		{
			Reader: delivery.Reader{Name: "search", Start: delivery.Latest, Prefix: "shop/", MaxMessages: 10, MaxBytes: 1_000_000, MaxAttempts: 3, BlockAfter: 2 * time.Hour, Eager: true},
			Sink:   config(t, `{"kind":"lambda","arn":"arn:aws:lambda:eu-west-1:123456789012:function:f"}`),
		},
		{Reader: delivery.Reader{Name: "books"}},
		{Reader: delivery.Reader{Name: "brittle", Circuit: delivery.Circuit{Queues: 5, Probes: []time.Duration{time.Second, time.Minute}, WakeRate: 20}}},
		{Reader: delivery.Reader{Name: "many", Circuit: delivery.Circuit{Off: true}}},
		{Reader: delivery.Reader{Name: "words", Track: 15 * time.Minute, Retries: []time.Duration{500 * time.Millisecond, time.Hour}}, Sink: config(t, `{"kind":"sqs","arn":"`+queueARN+`"}`)},
		{Reader: delivery.Reader{Name: "late", Start: delivery.At(7)}, Sink: config(t, `{"kind":"sqs","arn":"`+queueARN+`"}`)},
	}
	check.Is(t, cmp.Diff(want, got, cmp.Comparer(func(a, b delivery.Start) bool { return a == b }),
		cmp.Comparer(func(a, b sink.Config) bool { return a == b })), "")
}

func TestReadRefuses(t *testing.T) {
	one := func(members string) string {
		return fmt.Sprintf(`{"consumers":[{%s,"sink":{"kind":"sqs","arn":%q}}]}`, members, queueARN)
	}
	many := strings.Repeat(`{},`, consumers.Max) + `{}`
	for name, c := range map[string]struct{ text, want string }{
		"nothing":             {``, "ends too early"},
		"an array":            {`[]`, "must be a JSON object"},
		"another member":      {`{"consumer":[]}`, "consumer is not known"},
		"no list":             {`{}`, "consumers has 0: it must have from 1 to 20"},
		"an empty list":       {`{"consumers":[]}`, "consumers has 0: it must have from 1 to 20"},
		"no array":            {`{"consumers":{}}`, "consumers must be a JSON array"},
		"too many":            {`{"consumers":[` + many + `]}`, "consumers has 21"},
		"no object":           {`{"consumers":[7]}`, "consumers[0]"},
		"eager, and no sink":  {`{"consumers":[{"name":"a","eager":true}]}`, "consumers[0].eager is true, and there is no sink"},
		"a track of a number": {one(`"name":"a","track":900`), "consumers[0].track"},
		"a track of no time":  {one(`"name":"a","track":"soon"`), `consumers[0].track must be a duration above 0, such as "90s", "5m" or "24h": it is "soon"`},
		"a track of 0":        {one(`"name":"a","track":"0s"`), "consumers[0].track must be a duration"},
		"too short a track":   {one(`"name":"a","track":"1ms"`), "consumers[0].track is 1ms: it must be from 1s to 720h0m0s"},
		"a sink of no kind":   {`{"consumers":[{"name":"a","sink":{}}]}`, "consumers[0].sink.kind is missing"},
		"a sink that is text": {`{"consumers":[{"name":"a","sink":"x"}]}`, "consumers[0].sink must be a JSON object"},
		"a variable unset":    {`{"consumers":[{"name":"a","sink":{"kind":"sqs","arn":"${STREAMSORT_SINK_0}"}}]}`, "STREAMSORT_SINK_0, which the file names, is not set"},
		"a variable of others": {
			`{"consumers":[{"name":"a","sink":{"kind":"sqs","arn":"${AWS_SECRET_ACCESS_KEY}"}}]}`, "is no ARN",
		},
		"no name":            {one(`"prefix":"a"`), "consumers[0].name has 0 bytes: it must have 1 to 128"},
		"a name with spaces": {one(`"name":"a b"`), "consumers[0].name must be of a-z"},
		"a name twice": {
			`{"consumers":[{"name":"a","sink":{"kind":"sqs","arn":"` + queueARN + `"}},{"name":"a","sink":{"kind":"sqs","arn":"` + queueARN + `"}}]}`,
			`consumers[1].name "a" is that of consumers[0] too`,
		},
		"a member twice":     {one(`"name":"a","name":"b"`), `consumers[0] has the member "name" twice`},
		"an unknown member":  {one(`"name":"a","size":1`), "consumers[0].size is not known"},
		"a bad start":        {one(`"name":"a","start":"now"`), `consumers[0].start is "now": it must be an integer from 0 to 9223372036854775807, in plain digits, or first, or latest`},
		"an empty start":     {one(`"name":"a","start":""`), "consumers[0].start must be first, latest or a seq"},
		"no start":           {one(`"name":"a","start":null`), "consumers[0].start is"},
		"no messages":        {one(`"name":"a","maxMessages":0`), "consumers[0].maxMessages must be a positive integer"},
		"too many messages":  {one(`"name":"a","maxMessages":1001`), "consumers[0].maxMessages is 1001: it must be from 1 to 1000"},
		"too many bytes":     {one(`"name":"a","maxBytes":99999999`), "consumers[0].maxBytes is 99999999"},
		"half a message":     {one(`"name":"a","maxMessages":1.5`), "consumers[0].maxMessages must be a positive integer"},
		"one attempt":        {one(`"name":"a","maxAttempts":1`), "consumers[0].maxAttempts is 1: it must be from 2 to 1000"},
		"a block of a word":  {one(`"name":"a","blockAfter":"never"`), "consumers[0].blockAfter must be a duration"},
		"too early a block":  {one(`"name":"a","blockAfter":"1ms"`), "consumers[0].blockAfter is 1ms: it must be from 1s to 720h0m0s"},
		"a tracked archive":  {`{"consumers":[{"name":"a","track":"15m","sink":{"kind":"s3"}}]}`, "consumers[0].track must not be given with a sink of the kind s3"},
		"retries of a text":  {one(`"name":"a","retries":"1s"`), `consumers[0].retries must be a list of 1 to 10 elements, such as ["1s", "1m"]: it is "1s"`},
		"no retries":         {one(`"name":"a","retries":[]`), `consumers[0].retries must be a list of 1 to 10 elements, such as ["1s", "1m"]: it is of 0`},
		"eleven retries":     {one(`"name":"a","retries":["1s","1s","1s","1s","1s","1s","1s","1s","1s","1s","1s"]`), "consumers[0].retries must be a list of 1 to 10"},
		"a retry of a word":  {one(`"name":"a","retries":["1s","soon"]`), `consumers[0].retries[1] must be a duration above 0, such as "90s", "5m" or "24h": it is "soon"`},
		"too long a retry":   {one(`"name":"a","retries":["1s","2h"]`), "consumers[0].retries[1] is 2h0m0s: it must be from 100ms to 1h0m0s"},
		"a circuit of text":  {one(`"name":"a","circuit":"open"`), "consumers[0].circuit must be a JSON object"},
		"a circuit's switch": {one(`"name":"a","circuit":{"off":1}`), "consumers[0].circuit.off must be true or false: it is 1"},
		"a circuit's word":   {one(`"name":"a","circuit":{"probe":["1s"]}`), "consumers[0].circuit.probe is not known: there are off, queues, probes and wakeRate"},
		"a circuit of one":   {one(`"name":"a","circuit":{"queues":1}`), "consumers[0].circuit.queues is 1: it must be from 2 to 10"},
		"no queues":          {one(`"name":"a","circuit":{"queues":0}`), "consumers[0].circuit.queues must be a positive integer: it is 0"},
		"a flood":            {one(`"name":"a","circuit":{"wakeRate":1001}`), "consumers[0].circuit.wakeRate is 1001: it must be from 1 to 1000"},
		"no probes":          {one(`"name":"a","circuit":{"probes":[]}`), `consumers[0].circuit.probes must be a list of 1 to 10 elements, such as ["5s", "1m"]: it is of 0`},
		"too long a probe":   {one(`"name":"a","circuit":{"probes":["2h"]}`), "consumers[0].circuit.probes[0] is 2h0m0s: it must be from 100ms to 1h0m0s"},
		"a part of a tenant": {one(`"name":"a","prefix":"@acme"`), "consumers[0].prefix begins with '@', and with no whole tenant"},
		"no tenant":          {one(`"name":"a","prefix":"@/"`), "consumers[0].prefix begins with '@'"},
		"a prefix of null":   {one(`"name":"a","prefix":null`), "consumers[0].prefix must be a string"},
	} {
		t.Run(name, func(t *testing.T) {
			check.Says(t, check.Err(consumers.Read([]byte(c.text), none)), c.want)
		})
	}
}
