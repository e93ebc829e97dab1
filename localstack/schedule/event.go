package schedule

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"time"
)

// Event is the payload of a scheduled invocation. Input, where a template has one, is the payload
// itself. resource is the ARN of the rule ("Events from AWS services", Amazon EventBridge User
// Guide).
func Event(source, resource, account, region, input string, at time.Time) []byte {
	if input != "" {
		return []byte(input)
	}
	text, _ := json.Marshal(map[string]any{
		"version": "0", "id": newID(), "detail-type": "Scheduled Event", "source": source,
		"account": account, "time": at.UTC().Format(time.RFC3339), "region": region,
		"resources": []string{resource}, "detail": struct{}{},
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
