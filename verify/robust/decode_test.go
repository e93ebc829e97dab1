package main

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/traffic"
)

// fifoMessage is a message as a FIFO queue gives it.
func fifoMessage(body string, attributes map[string]string) types.Message {
	m := types.Message{
		Body: &body, Attributes: map[string]string{"SentTimestamp": "1000"},
		MessageAttributes: map[string]types.MessageAttributeValue{"queue": {BinaryValue: []byte("a\tb")}},
	}
	for name, value := range attributes {
		m.MessageAttributes[name] = types.MessageAttributeValue{StringValue: &value}
	}
	return m
}

func TestOutputOfFIFO(t *testing.T) {
	attributes := map[string]string{"seq": "7", "token": "3-req"}
	want := traffic.Output{Place: traffic.At("a\tb", 7), Token: 3, At: time.Unix(1, 0)}
	for _, c := range []struct {
		body, encoding string
		bytes          []byte
	}{
		{`{"n": 1}`, "", []byte(`{"n": 1}`)},
		{"-", "empty", nil},
		{"AP8=", "base64", []byte{0, 255}},
	} {
		attributes["encoding"] = c.encoding
		want.Sums = traffic.SumsOf(c.bytes)
		got, err := outputOfFIFO(fifoMessage(c.body, attributes))
		check.That(t, err == nil && got == want, "%q is %+v, %v; want %+v", c.body, got, err, want)
	}
	for name, value := range map[string]string{"seq": "x", "token": "", "encoding": "rot13"} {
		broken := map[string]string{"seq": "7", "token": "3-req", name: value}
		_, err := outputOfFIFO(fifoMessage("{}", broken))
		check.That(t, err != nil && (strings.Contains(err.Error(), name) || name == "token"),
			"%s=%s: error %v", name, value, err)
	}
}

func TestOutputOfEvent(t *testing.T) {
	body := []byte(`{"n": 1}`)
	for text, rewritten := range map[string]bool{
		`"body":{"n":1}`: true,
		fmt.Sprintf(`"bodyBase64":%q`, base64.StdEncoding.EncodeToString(body)): false,
	} {
		got, err := outputOfEvent(
			types.Message{
				Body: aws.String(`{"detail-type":"message","detail":{"queue":"q","seq":7,"tokenN":3,` + text +
					`}}`),
			})
		check.That(t, err == nil && got.Place == traffic.At("q", 7) && got.Token == 3 &&
			got.Rewritten == rewritten && got.Value == traffic.SumsOf(body).Value && (rewritten ||
			got.Exact == traffic.SumsOf(body).Exact), "%s: %+v, %v", text, got, err)
	}
	_, err := outputOfEvent(types.Message{Body: aws.String("<p>")})
	check.That(t, err != nil, "what is no event was taken")
}

func TestAnnouncements(t *testing.T) {
	event := func(kind, detail string) types.Message {
		return types.Message{Body: aws.String(fmt.Sprintf(`{"detail-type":%q,"detail":%s}`, kind,
			detail))}
	}
	blocked := event("consumer.blocked",
		`{"id":"b","queue":"poison","consumer":"receiver","delivered":2}`)
	opened := event("consumer.circuit-open", `{"id":"c","consumer":"receiver"}`)
	closed := event("consumer.circuit-closed", `{"id":"c","consumer":"receiver"}`)
	again := event("consumer.circuit-open", `{"id":"d","consumer":"receiver"}`)
	gap := event("gap.opened", `{"id":"g","queue":"gap","missingAfter":2,"missingUpTo":3}`)
	for name, c := range map[string]struct {
		said       []types.Message
		missing    int
		violations int
	}{
		"right":       {[]types.Message{blocked, gap, gap, blocked}, 0, 0},
		"none":        {nil, 2, 0},
		"killed":      {[]types.Message{gap, blocked, opened, closed, again}, 0, 0},
		"stays open":  {[]types.Message{gap, blocked, opened}, 1, 0},
		"another's":   {[]types.Message{gap, blocked, event("consumer.circuit-open", `{"id":"c","consumer":"queue"}`)}, 0, 1},
		"one":         {[]types.Message{gap}, 1, 0},
		"another id":  {[]types.Message{gap, blocked, event("gap.opened", `{"id":"h","queue":"gap","missingAfter":2}`)}, 0, 1},
		"other gap":   {[]types.Message{gap, blocked, event("gap.opened", `{"id":"g","queue":"q","missingAfter":2}`)}, 0, 1},
		"other place": {[]types.Message{gap, event("consumer.blocked", `{"id":"b","queue":"poison","consumer":"receiver","delivered":1}`)}, 1, 1},
		"missing":     {[]types.Message{gap, blocked, event("consumer.missing", `{"id":"m","queue":"q","consumer":"queue"}`)}, 0, 1},
	} {
		a := soakAnnouncements()
		for _, m := range c.said {
			check.OK(t, a.event(m))
		}
		_, violations := a.report()
		check.That(t, len(a.missing()) == c.missing && len(violations) == c.violations,
			"%s: missing %q, violations %q", name, a.missing(), violations)
	}
	diff := cmp.Diff([]string{blockedAnnounced, gapAnnounced("opened", gapQueue, bad)},
		soakAnnouncements().missing())
	check.That(t, diff == "", "%v", diff)
}
