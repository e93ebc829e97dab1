package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/archive"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// replayCommand puts archived messages to another queue. It works on the tables
// of the environment's DynamoDB, so that no function's time bounds it.
type replayCommand struct {
	Queue string `arg:"" help:"The queue's name."`
	From  string `arg:"" help:"The first seq."`
	To    string `arg:"" help:"The last seq."`
	Into  string `arg:"" help:"The queue to put them to: a new one, or that of an earlier part."`

	queueTables
	ArchiveTable string        `help:"The table of the archive; that of the context, or streamsort-archive."`
	Retention    time.Duration `help:"How long the messages are kept, the stack's retention; 0 for ever." default:"336h"`
}

// replayPart is how many messages are put between two lines of progress.
const replayPart = 1000

// Run implements the verb.
func (c *replayCommand) Run(s *session) error {
	r := archive.Range{Queue: c.Queue, Into: c.Into}
	var err error
	if r.From, err = cursor.ParseSeq(c.From); err != nil {
		return usageError(fmt.Sprintf("from: %v", err))
	}
	if r.To, err = cursor.ParseSeq(c.To); err != nil {
		return usageError(fmt.Sprintf("to: %v", err))
	}
	a, err := c.archive(s)
	if err != nil {
		return err
	}
	for r.From <= r.To {
		done, err := a.Replay(s.ctx, r, replayPart)
		if errors.Is(err, ddb.ErrNoTable) {
			return c.withoutTable(s)
		}
		if err != nil {
			return err
		}
		document, err := json.Marshal(map[string]any{
			"queue": r.Queue, "into": r.Into, "from": r.From, "to": done.Last, "messages": done.Messages, "skipped": done.Skipped,
		})
		if err != nil {
			return err
		}
		err = s.print(document, "%s\t%d to %d put to %s, %d skipped\n", r.Queue, r.From, done.Last, r.Into, done.Skipped)
		if err != nil || done.Last == r.To {
			return err
		}
		r.From = done.Last + 1
	}
	return fmt.Errorf("to is %d: it must be from %d on", r.To, r.From)
}

// withoutTable is the error where one of the tables is not there: nearly always the
// archive's, which a stack has only where it is asked for.
func (c *replayCommand) withoutTable(s *session) error {
	others := c.names(s)
	return fmt.Errorf("%w: %q is there only where the stack has `archive` set; the others are %q, %q and %q, by their flags",
		ddb.ErrNoTable, s.tableName(c.ArchiveTable, "Archive"), others.Messages, others.Cursors, others.Arrivals)
}

func (c *replayCommand) archive(s *session) (*archive.Archive, error) {
	client, sorter, err := c.open(s, &cursor.Options{Retention: c.Retention, KeepForever: c.Retention == 0})
	if err != nil {
		return nil, err
	}
	return archive.New(archive.NewDynamo(client, archive.Names{Archive: s.tableName(c.ArchiveTable, "Archive")}), sorter), nil
}
