//go:build whole

package source_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/dev/payloads"
)

// TestEventFiles: those of aws-lambda-go of each kind make messages, by what the kind says alone.
func TestEventFiles(t *testing.T) {
	kinds := map[string]*regexp.Regexp{
		"sqs": regexp.MustCompile(`^sqs-event$`), "sns": regexp.MustCompile(`^(sns-event|cloudwatch-alarm-sns.*)$`),
		"kinesis": regexp.MustCompile(`^kinesis-event$`), "dynamodb": regexp.MustCompile(`^dynamodb-event$`),
		"kafka": regexp.MustCompile(`^kafka-event$`), "s3": regexp.MustCompile(`^s3-(event|event-with-decoded)$`),
		"eventbridge": regexp.MustCompile(`^(autoscaling-event-.*|codebuild-.*-change|codedeploy-(deployment|instance)-event|codepipeline-.*-change-event|ecr-image-.*|ecs-container-.*)$`),
	}
	for kind, files := range kinds {
		s, made := read(t, `{"name":"files","kind":"`+kind+`"}`), 0
		for _, e := range payloads.Lambda(t) {
			if !files.MatchString(e.Kind) {
				continue
			}
			event, err := s.Split(e.Body)
			if err != nil {
				t.Errorf("%s %s: %v", kind, e.Kind, err)
				continue
			}
			for i := range event.Records {
				r := &event.Records[i]
				messages, err := s.Messages(r, time.Unix(1_700_000_000, 0))
				check.That(t, r.Err == nil && err == nil && len(messages) == 1,
					"%s %s: %v, %v", kind, e.Kind, r.Err, err)
				made++
			}
		}
		check.That(t, made != 0, "no file of the kind %s made a message", kind)
	}
}
