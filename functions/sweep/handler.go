package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/streamsort/streamsort/internal/announce"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/margin"
	"github.com/streamsort/streamsort/internal/settings"
	"github.com/streamsort/streamsort/pkg/archive"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/handoff"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// margins is how long before the function's time is over the sweep stops, so
// that it notes where it stopped.
const margins = 5 * time.Second

// report is what a run saw and did.
type report struct {
	// Queues is of the queues' gaps, positions and expiry, Consumers of those
	// that the queues' messages are delivered to, Chains of the acker's.
	Queues    cursor.SweepReport
	Consumers handoff.SweepReport
	Chains    xorack.SweepReport
}

// handler is the type of the function that Lambda calls. The event, which the
// schedule makes, says nothing that matters.
type handler = func(context.Context, json.RawMessage) (report, error)

// sweeper is what a run needs.
type sweeper struct {
	sorter    *cursor.Sorter
	deliverer *handoff.Deliverer
	acker     *xorack.Acker
	queues    cursor.SweepOptions
	consumers handoff.SweepOptions
	chains    xorack.SweepOptions
	emitter   *emf.Emitter
}

// fromEnvironment makes the handler of the environment's tables. Metrics go to
// out.
func fromEnvironment(out io.Writer) (handler, error) {
	s, err := settings.FromEnvironment()
	if err != nil {
		return nil, err
	}
	client, err := dynamo.New(nil)
	if err != nil {
		return nil, err
	}
	a, err := settings.AcksFromEnvironment()
	if err != nil {
		return nil, err
	}
	acker, err := a.NewAcker(client)
	if err != nil {
		return nil, err
	}
	deliverer, sorter, err := s.NewDeliverer(client, acker, nil)
	if err != nil {
		return nil, err
	}
	announcer, err := announce.New(s.EventBus, s.AnnounceTopic, s.AnnounceFunction)
	if err != nil {
		return nil, err
	}
	var shelf *archive.Archive
	if s.ArchiveTable != "" {
		shelf = archive.New(archive.NewDynamo(client, archive.Names{Archive: s.ArchiveTable}), sorter)
	}
	return (&sweeper{
		sorter: sorter, deliverer: deliverer, acker: acker, emitter: settings.NewEmitter(out),
		queues: cursor.SweepOptions{
			Segments: s.SweepSegments, Limit: s.SweepLimit, FullEvery: s.FullSweepEvery, Announce: announcer.Gap,
		},
		consumers: handoff.SweepOptions{
			Segments: s.SweepSegments, Limit: s.SweepLimit, FullEvery: s.FullSweepEvery, LagAfter: s.LagAfter,
			SettleWithin: s.SettleWithin,
			Delete:       s.DeleteDelivered, Archive: shelf, Readers: s.Readers, Announce: announcer.Consumer,
		},
		chains: xorack.SweepOptions{Limit: s.SweepLimit, Announce: announce.Batches(deliverer.Ender(announcer.Chain))},
	}).run, nil
}

// run is the handler. The sweeps run side by side: each has all of the time, and what
// one of them has to do, however much, keeps no other waiting. A queue, a consumer or a chain that could not be handled fails the
// invocation, after all others were.
func (s *sweeper) run(ctx context.Context, _ json.RawMessage) (report, error) {
	metrics := s.emitter.Begin()
	defer metrics.Flush()
	ctx, cancel := margin.Keep(ctx, margins)
	defer cancel()
	var did report
	var errs [3]error
	sweeps := []func(){
		func() { did.Queues, errs[0] = s.sweepQueues(ctx, metrics) },
		func() { did.Consumers, errs[1] = s.sweepConsumers(ctx, metrics) },
		func() { did.Chains, errs[2] = s.sweepChains(ctx, metrics) },
	}
	fanout.SideBySide(len(sweeps), func(i int) { sweeps[i]() })
	err := errors.Join(errs[:]...)
	if err != nil {
		slog.ErrorContext(ctx, "the sweep left something undone", "error", err,
			"queues", did.Queues.Failed, "consumers", did.Consumers.Failed, "chains", did.Chains.Failed)
	}
	return did, err
}

// sweepQueues heals, skips, announces gaps, and keeps undelivered messages from
// expiring.
func (s *sweeper) sweepQueues(ctx context.Context, metrics *emf.Metrics) (cursor.SweepReport, error) {
	options := s.queues
	options.Delivered = s.deliverer.Delivered
	if s.consumers.Archive != nil {
		options.Delivered = s.consumers.Archive.Delivered(options.Delivered)
	}
	options.Erase = s.erase
	options.Announce = func(ctx context.Context, a cursor.Announcement) error {
		metrics.Count(metricOfGap[a.Kind], 1)
		return s.queues.Announce(ctx, a)
	}
	did, err := s.sorter.Sweep(ctx, options)
	metrics.Count("SweptQueues", did.Queues)
	metrics.Count("Advances", did.Moves)
	metrics.Count("Skipped", did.Skipped)
	metrics.Count("Erased", did.Erased)
	metrics.Count("Errors", did.Failed)
	// These two are written when they are 0 as well: an alarm on them must
	// distinguish "no gap" from "no sweep".
	metrics.Add("OpenGaps", emf.Count, float64(did.OpenGaps))
	metrics.Add("GapAge", emf.Seconds, did.OldestGap.Seconds())
	return did, err
}

// erase deletes consumers and the archive of a queue that was erased.
func (s *sweeper) erase(ctx context.Context, c cursor.Cursor) (left bool, err error) {
	left, err = s.deliverer.EraseConsumers(ctx, c.Queue)
	if err != nil || s.consumers.Archive == nil {
		return left, err
	}
	archived, err := s.consumers.Archive.Erase(ctx, c)
	return left || archived, err
}

// sweepConsumers wakes up who lags, ends dead claims, and announces who is
// blocked, lags, or lost messages.
func (s *sweeper) sweepConsumers(ctx context.Context, metrics *emf.Metrics) (handoff.SweepReport, error) {
	options := s.consumers
	options.Announce = func(ctx context.Context, a handoff.Announcement) error {
		switch a.Kind {
		case handoff.ConsumerMissing:
			metrics.Count("ConsumersMissing", 1)
		case handoff.ConsumerReplyRefused:
			metrics.Count("RepliesRefused", 1)
		}
		return s.consumers.Announce(ctx, a)
	}
	did, err := s.deliverer.Sweep(ctx, options)
	metrics.Count("SweptConsumers", did.Queues)
	metrics.Count("ClaimsCancelled", did.Cancelled)
	metrics.Count("ClaimsCarried", did.Carried)
	metrics.Count("Nudged", did.Nudged)
	metrics.Count("Archived", did.Archived)
	metrics.Count("ArchiveLost", did.Lost)
	metrics.Count("Deleted", did.Deleted)
	metrics.Count("Errors", did.Failed)
	// Written as 0 too, as above: an alarm is raised where it is missing.
	metrics.Add("ConsumersBlocked", emf.Count, float64(did.Blocked))
	metrics.Add("ConsumersLagging", emf.Count, float64(did.Lagging+did.Missing))
	metrics.Add("ConsumerLag", emf.Seconds, did.OldestLag.Seconds())
	metrics.Add("ConsumersInDoubt", emf.Count, float64(did.InDoubt))
	metrics.Add("ConsumersQuarantined", emf.Count, float64(did.Quarantined))
	return did, err
}

// sweepChains times chains out, and finishes those that the stream's handler did not
// finish.
func (s *sweeper) sweepChains(ctx context.Context, metrics *emf.Metrics) (xorack.SweepReport, error) {
	did, err := s.acker.Sweep(ctx, s.chains)
	metrics.Count("SweptChains", did.Chains)
	metrics.Count("ChainsTimedOut", did.TimedOut)
	metrics.Count("ChainsFinished", did.Finished)
	metrics.Count("Errors", did.Failed)
	return did, err
}

// metricOfGap is the counter of each kind of announcement.
var metricOfGap = map[cursor.AnnouncementKind]string{
	cursor.GapOpened:  "GapsOpened",
	cursor.GapClosed:  "GapsClosed",
	cursor.GapSkipped: "GapsSkipped",
}
