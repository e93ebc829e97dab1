package httpsink

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/cloudevents"
	"github.com/streamsort/streamsort/internal/secret"
	"github.com/streamsort/streamsort/internal/sink/kind"
	"github.com/streamsort/streamsort/internal/sink/lambda"
	"github.com/streamsort/streamsort/internal/strictjson"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// ownPrefix begins the names of headers that say what a message is.
const ownPrefix = "streamsort-"

const agent = "streamsort"

// content is what one request brings, before it is signed.
type content struct {
	// id is the same however often it is sent.
	id          string
	contentType string
	body        []byte
	// own are the headers beside the signature's, by their names without the prefix; an empty one is
	// not sent. trace is that of a single message.
	own   map[string]string
	trace cursor.Trace
	// It brings the seqs behind from, up to to.
	from, to int64
}

// contents are the requests of a batch, in their order. The error is a *kind.TooLargeError where
// one can never be sent.
func contents(b delivery.Batch, s settings) ([]content, error) {
	switch {
	case s.Mode == "batch" && s.Format != "":
		return eventBatches(b, s.MaxBytes)
	case s.Mode == "batch":
		return documents(b, s.MaxBytes)
	}
	all := make([]content, len(b.Messages))
	for i, m := range b.Messages {
		contentType, body := cmp.Or(m.ContentType, cursor.DefaultContentType), m.Body
		if !visible(contentType) {
			contentType = "application/octet-stream" // its producer chose what no header takes
		}
		if s.Format != "" {
			event, err := kind.EventOf(b, i, nil)
			if err != nil {
				return nil, err
			}
			contentType, body = cloudevents.MediaType, event
		}
		if len(body) > s.MaxBytes {
			return nil, &kind.TooLargeError{Kind: Kind.Name, Seq: m.Seq, Bytes: len(body), Limit: s.MaxBytes}
		}
		own, err := ownOf(b, i)
		if err != nil {
			return nil, err
		}
		all[i] = content{
			// A queue that was erased, and recreated, has other messages under the same seqs.
			id:          idOf(b, m.Seq, m.Seq, m.EnqueuedAt.UnixMilli()),
			contentType: contentType, body: body, own: own, trace: m.Trace, from: m.Seq - 1, to: m.Seq,
		}
	}
	return all, nil
}

// eventBatches are the batch as CloudEvents' own batches: one that is over the bound comes as
// several.
func eventBatches(b delivery.Batch, most int) (all []content, err error) {
	for i, m := range b.Messages {
		event, err := kind.EventOf(b, i, nil)
		if err != nil {
			return nil, err
		}
		if len(event)+len("[]") > most {
			return nil,
				&kind.TooLargeError{Kind: Kind.Name, Seq: m.Seq, Bytes: len(event) + len("[]"), Limit: most}
		}
		if n := len(all); n > 0 && len(all[n-1].body)+len(",")+len(event) <= most {
			body := all[n-1].body[:len(all[n-1].body)-1] // without the bracket
			all[n-1].body = append(append(append(body, ','), event...), ']')
			all[n-1].to = m.Seq
			continue
		}
		all = append(all, content{
			id: idOf(b, m.Seq-1, b.To, m.EnqueuedAt.UnixMilli()), contentType: cloudevents.BatchMediaType,
			body: append(append([]byte{'['}, event...), ']'), own: ofBatch(b), from: m.Seq - 1, to: m.Seq,
		})
	}
	return all, nil
}

func ofBatch(b delivery.Batch) map[string]string {
	return map[string]string{"queue": escape(b.Queue), "consumer": b.Consumer,
		"token": b.Token.String()}
}

// documents are the batch as a function is called with it: one that is over the bound comes as
// several.
func documents(b delivery.Batch, most int) ([]content, error) {
	written, err := lambda.Documents(b, kind.Limits{Kind: Kind.Name, Bytes: most})
	all := make([]content, len(written))
	stored := int64(0)
	if len(b.Messages) > 0 {
		stored = b.Messages[0].EnqueuedAt.UnixMilli()
	}
	for i, d := range written {
		all[i] = content{
			id: idOf(b, b.From, b.To, stored+int64(i)), contentType: "application/json", body: d.JSON,
			own: ofBatch(b), from: d.From, to: d.To,
		}
	}
	return all, err
}

// idOf is a name of what is sent that is the same each time it is sent, and that nothing else has.
// Set back, a consumer has other ones.
func idOf(b delivery.Batch, from, to, stored int64) string {
	hash := sha256.New()
	for _, part := range []string{b.Consumer, b.Queue} {
		_ = binary.Write(hash, binary.BigEndian, int64(len(part)))
		hash.Write([]byte(part))
	}
	for _, n := range []int64{from, to, b.Rewinds, stored} {
		_ = binary.Write(hash, binary.BigEndian, n)
	}
	return "msg_" + base64.RawURLEncoding.EncodeToString(hash.Sum(nil)[:18])
}

func ownOf(b delivery.Batch, i int) (map[string]string, error) {
	m := b.Messages[i]
	own := ofBatch(b)
	own["seq"], own["attempt"] = strconv.FormatInt(m.Seq, 10), strconv.Itoa(b.Attempt)
	own["enqueued-at"] = m.EnqueuedAt.UTC().Format("2006-01-02T15:04:05.000Z")
	own["id"], own["edge"] = escape(m.ID), kind.EdgeOf(b, i)
	if m.Key != "" {
		own["key"] = ascii(m.Key.JSON())
		is := map[bool]string{true: "true"}
		own["late"], own["unlinked"] = is[m.Late], is[m.Unlinked]
	}
	if len(m.Attributes) > 0 {
		written, err := strictjson.Marshal(m.Attributes)
		if err != nil {
			return nil, err
		}
		own["attributes"] = ascii(written)
	}
	return own, nil
}

// escape is a text in visible characters of ASCII: other bytes, and '%', are percent-encoded.
func escape(text string) string {
	var out strings.Builder
	for _, c := range []byte(text) {
		if c > ' ' && c < 0x7F && c != '%' {
			out.WriteByte(c)
		} else {
			fmt.Fprintf(&out, "%%%02X", c)
		}
	}
	return out.String()
}

// ascii is JSON without other characters than ASCII's.
func ascii(written []byte) string {
	var out strings.Builder
	for _, r := range string(written) {
		switch {
		case r < 0x7F:
			out.WriteRune(r)
		case r > 0xFFFF:
			r -= 0x10000
			fmt.Fprintf(&out, `\u%04x\u%04x`, 0xD800+r>>10, 0xDC00+r&0x3FF)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.String()
}

func (s *sink) request(ctx context.Context, to target, c content,
	now time.Time) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to.url.String(),
		bytes.NewReader(c.body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", c.contentType)
	r.Header.Set("User-Agent", agent)
	for name, value := range s.settings.Headers {
		r.Header.Set(name, value)
	}
	for name, value := range c.own {
		if value != "" {
			r.Header.Set(ownPrefix+name, value)
		}
	}
	for name, value := range map[string]string{"Traceparent": c.trace.Parent,
		"Tracestate": c.trace.State} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	at := strconv.FormatInt(now.Unix(), 10)
	r.Header.Set("Webhook-Id", c.id)
	r.Header.Set("Webhook-Timestamp", at)
	// A connection that was closed while nobody looked is replaced: the id tells a repeat. It is
	// not sent.
	r.Header["Idempotency-Key"] = nil
	if to.sign.Scheme == "" {
		return r, nil
	}
	values := to.secrets
	if values == nil {
		values, err = s.secrets.Values(ctx, to.sign.Secret)
	}
	if err == nil {
		err = to.sign.sign(r.Header, values, c, at)
	}
	if err != nil {
		return nil, &kind.AwayError{Err: err}
	}
	return r, nil
}

func (s sign) sign(h http.Header, values [][]byte, c content, at string) error {
	switch s.Scheme {
	case standard:
		keys, err := secret.Base64.Keys(values)
		if err != nil {
			return fmt.Errorf("secret %s: %w", s.Secret, err)
		}
		h.Set("Webhook-Signature", standardSignature(keys, c, at))
	case hmacOnly:
		mac := hmac.New(sha256.New, values[0])
		mac.Write(c.body)
		h.Set(s.Header, s.Prefix+hex.EncodeToString(mac.Sum(nil)))
	case bearer:
		if token := string(values[0]); visible(token) {
			h.Set("Authorization", "Bearer "+token)
			return nil
		}
		return fmt.Errorf("secret %s: its first value has characters that no header takes", s.Secret)
	}
	return nil
}

// standardSignature is a signature by each of the keys, as Standard Webhooks has them: a receiver
// that knows one of them can verify it.
func standardSignature(keys [][]byte, c content, at string) string {
	all := make([]string, len(keys))
	for i, key := range keys {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(c.id + "." + at + "."))
		mac.Write(c.body)
		all[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return strings.Join(all, " ")
}
