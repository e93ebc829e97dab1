package schedule

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"
)

// Event is the payload of a scheduled invocation. Input, where a template has
// one, is the payload itself; for a schedule of EventBridge Scheduler its
// <aws.scheduler.…> words are replaced ("Adding context attributes in
// EventBridge Scheduler", EventBridge Scheduler User Guide).
//
// source is aws.events or aws.scheduler, resource the ARN of the rule or
// schedule ("Events from AWS services", Amazon EventBridge User Guide).
func Event(source, resource, account, region, input string, at time.Time) []byte {
	id, when := newID(), at.UTC().Format(time.RFC3339)
	if input != "" {
		if source == "aws.scheduler" {
			input = strings.NewReplacer(
				"<aws.scheduler.schedule-arn>", resource, "<aws.scheduler.scheduled-time>", when,
				"<aws.scheduler.execution-id>", id, "<aws.scheduler.attempt-number>", "1",
			).Replace(input)
		}
		return []byte(input)
	}
	var detail any = struct{}{}
	if source == "aws.scheduler" {
		detail = "{}"
	}
	text, _ := json.Marshal(map[string]any{
		"version": "0", "id": id, "detail-type": "Scheduled Event", "source": source, "account": account,
		"time": when, "region": region, "resources": []string{resource}, "detail": detail,
	})
	return text
}

func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
