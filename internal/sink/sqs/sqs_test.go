package sqs

import (
	"testing"

	"github.com/streamsort/streamsort/internal/dev/check"
	"github.com/streamsort/streamsort/internal/sink/fifo"
	"github.com/streamsort/streamsort/internal/sink/sinktest"
)

// A queue is named by its URL, which is in the partition of its region.
func TestURL(t *testing.T) {
	t.Setenv("AWS_REGION", "eu-west-1")
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	s := sinktest.Open(t, Kind, "arn:aws-cn:sqs:cn-north-1:12:a.fifo", "")
	check.Is(t, s.(*fifo.Sink).Target, "https://sqs.cn-north-1.amazonaws.com.cn/12/a.fifo")
}
