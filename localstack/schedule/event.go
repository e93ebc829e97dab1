package schedule

import (
	"crypto/rand"
	"encoding/json"
	"time"

	"github.com/streamsort/streamsort/localstack/template"
)

// Event is the payload of a scheduled invocation. Input, where a template has one, is the payload
// itself. resource is the ARN of the rule ("Events from AWS services", Amazon EventBridge User
// Guide).
func Event(source, resource, input string, at time.Time) []byte {
	if input != "" {
		return []byte(input)
	}
	text, _ := json.Marshal(map[string]any{
		"version": "0", "id": template.UUID(rand.Text()), "detail-type": "Scheduled Event", "source": source,
		"account": template.Account, "time": at.UTC().Format(time.RFC3339), "region": template.Region,
		"resources": []string{resource}, "detail": struct{}{},
	})
	return text
}
