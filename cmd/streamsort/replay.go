package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/streamsort/streamsort/internal/awscall"
	"github.com/streamsort/streamsort/internal/sink/s3"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// replayCommand puts archived messages to another queue. It reads the bucket, and works on the
// tables of the environment's DynamoDB, so that no function's time bounds it.
type replayCommand struct {
	Queue string `arg:"" help:"The queue's name."`
	Into  string `arg:"" help:"The queue to put them to: a new one, or that of an earlier part."`

	seqRange
	queueTables
	Consumer  string        `help:"The consumer whose archive it is." default:"archive"`
	Bucket    string        `help:"The bucket of the archive: its name." required:""`
	Retention time.Duration `help:"How long the messages are kept, the stack's retention; 0 for ever." default:"336h"`
}

// replayPart is how many messages are put between two lines of progress, or a few more.
const replayPart = 1000

func (c *replayCommand) Run(s *session) error {
	r := s3.Range{Queue: c.Queue, Into: c.Into}
	if c.From == "" || c.To == "" {
		return usageError("--from and --to are needed: the first and the last seq")
	}
	of, err := c.seqs()
	if err != nil {
		return err
	}
	r.From, r.To = of.From+1, of.To
	_, sorter, err := c.open(s, &cursor.Options{Retention: c.Retention, KeepForever: c.Retention == 0})
	if err != nil {
		return err
	}
	where, err := s.service("S3")
	if err != nil {
		return fmt.Errorf("%w for S3: set AWS_ENDPOINT_URL_S3 to what `streamsort local` prints as "+
			"\"SQS, SNS, EventBridge and other services at\", or, on AWS, AWS_REGION (--region)", err)
	}
	a, err := s3.NewArchive(c.Consumer, "arn:aws:s3:::"+c.Bucket, awscall.Options{Chain: &where})
	if err != nil {
		return err
	}
	from, part := r.From, s3.Replayed{}
	report := func() error {
		err := s.print(map[string]any{
			"queue": r.Queue, "into": r.Into, "from": from, "to": part.Last, "messages": part.Messages, "skipped": part.Skipped,
		}, "%s\t%d to %d put to %s, %d skipped\n", r.Queue, from, part.Last, r.Into, part.Skipped)
		from, part = part.Last+1, s3.Replayed{}
		return err
	}
	err = a.Replay(s.ctx, sorter, r, func(done s3.Replayed) error {
		part = s3.Replayed{Last: done.Last, Messages: part.Messages + done.Messages,
			Skipped: part.Skipped + done.Skipped}
		if part.Messages+part.Skipped < replayPart {
			return nil
		}
		return report()
	})
	if part.Messages+part.Skipped > 0 {
		err = errors.Join(report(), err)
	}
	return err
}
