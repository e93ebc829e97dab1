package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/internal/fanout"
	"github.com/streamsort/streamsort/internal/runtime"
	"github.com/streamsort/streamsort/internal/sortkey"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/timer"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// early is how much earlier a round may begin than it is due: the schedule calls every minute, and
// not to the second.
const early = 30 * time.Second

// calls is the time between two calls of the schedule.
const calls = time.Minute

// report is what a scheduled run saw and did.
type report struct {
	// Consumers is of those that the queues' messages are delivered to, and, as their Sorter, of
	// the queues' gaps, positions and expiry; Chains of the acker's.
	Consumers delivery.SweepReport
	Chains    xorack.SweepReport
}

type sweeper struct {
	sorter    *cursor.Sorter
	deliverer *delivery.Deliverer
	acker     *xorack.Acker
	consumers delivery.SweepOptions
	chains    xorack.Announce
	timer     *timer.Timer
	// tenants: the metrics that alarms watch are written by tenant too, gaps from gapAfter on, and
	// messages that wait for longer than overdueAfter beyond their window.
	tenants                bool
	gapAfter, overdueAfter time.Duration
}

// handle does what is due: what a batch of wake-ups is about, or whatever it finds.
func (s *sweeper) handle(ctx context.Context, metrics *emf.Metrics,
	event json.RawMessage) (any, error) {
	if !runtime.IsBatch(event, "aws:sqs") {
		return s.run(ctx, metrics, event)
	}
	var wakeUps events.SQSEvent
	if err := json.Unmarshal(event, &wakeUps); err != nil {
		return nil, err
	}
	return s.wake(ctx, metrics, wakeUps.Records), nil
}

// run is what the schedule calls. Queues with their consumers, and chains, are swept side by side:
// each has all of the time, and what one of them has to do, however much, keeps no other waiting. A
// queue, a consumer or a chain that could not be handled fails the invocation, after all others
// were.
func (s *sweeper) run(ctx context.Context, metrics *emf.Metrics,
	event json.RawMessage) (report, error) {
	// A call for wake-ups may take longer: the next scheduled one goes on where this one stops.
	ctx, end := context.WithTimeout(ctx, calls-headroom)
	defer end()
	seen := s.troubles()
	var did report
	var errs [2]error
	sweeps := []func(){
		func() { did.Consumers, errs[0] = s.sweepQueues(ctx, metrics, seen, scheduled(event)) },
		func() { did.Chains, errs[1] = s.sweepChains(ctx, metrics, seen) },
	}
	fanout.SideBySide(len(sweeps), func(i int) { sweeps[i]() })
	seen.write(metrics)
	// Written by every run, however little it did: an alarm tells "no sweep" by it.
	age := did.Consumers.Sorter.Round.Age
	if did.Chains.More {
		age = max(age, did.Chains.Late)
	}
	metrics.Add("RoundAge", emf.Seconds, age.Seconds())
	err := errors.Join(errs[:]...)
	if err != nil {
		slog.ErrorContext(ctx, "the sweep left something undone", "error", err,
			"queues", did.Consumers.Sorter.Failed, "consumers", did.Consumers.Failed, "chains",
			did.Chains.Failed)
	}
	return did, err
}

func (s *sweeper) troubles() *troubles {
	if !s.tenants {
		return nil
	}
	return &troubles{of: map[string]map[string]float64{}}
}

// scheduled reports whether it is the schedule that calls, which does so more often than a round is
// due. For any other caller one begins at once.
func scheduled(event json.RawMessage) bool {
	var e struct {
		Source string `json:"source"`
	}
	return json.Unmarshal(event, &e) == nil && e.Source == "aws.events"
}

// sweepQueues makes the rounds over all queues: it heals, skips, announces gaps, keeps undelivered
// messages from expiring, and looks after the consumers.
func (s *sweeper) sweepQueues(ctx context.Context, metrics *emf.Metrics, seen *troubles,
	whenDue bool) (delivery.SweepReport, error) {
	options := s.consumerOptions(metrics, seen)
	options.Sorter = s.queueOptions(metrics, seen)
	if !whenDue {
		options.Sorter.Every = 0
	}
	did, err := s.deliverer.Sweep(ctx, options)
	metrics.Count("SweptQueues", did.Sorter.Queues)
	metrics.Count("Advances", did.Sorter.Moves)
	metrics.Count("Skipped", did.Sorter.Skipped)
	metrics.Count("Settled", did.Sorter.Placed)
	metrics.Count("Late", did.Sorter.Late)
	metrics.Count("Dropped", did.Sorter.Dropped)
	metrics.Count("Unlinked", did.Sorter.Unlinked)
	metrics.Count("Stale", did.Sorter.Stale)
	metrics.Count("Erased", did.Sorter.Erased)
	metrics.Count("Errors", did.Sorter.Failed)
	metrics.Count("SweptConsumers", did.Queues)
	metrics.Count("ClaimsCancelled", did.Cancelled)
	metrics.Count("ClaimsCarried", did.Carried)
	metrics.Count("Notified", did.Notified)
	if did.CircuitsOpen > 0 {
		metrics.Add("CircuitsOpen", emf.Count, float64(did.CircuitsOpen))
	}
	metrics.Count("Deleted", did.Deleted)
	metrics.Count("Errors", did.Failed)
	tellAge(metrics, "FullRoundAge", did.Sorter.FullRound)
	tellAge(metrics, "KeepingRoundAge", did.Sorter.KeepingRound)
	if did.Sorter.Round.Ended {
		tellWhole(metrics, did)
	}
	return did, err
}

func (s *sweeper) queueOptions(metrics *emf.Metrics, seen *troubles) cursor.SweepOptions {
	options := s.consumers.Sorter
	options.Gap = func(of cursor.Cursor, age time.Duration) {
		if age >= s.gapAfter {
			seen.worst("GapAge", of.Queue, age.Seconds())
		}
	}
	options.Overdue = func(queue string, age time.Duration) {
		if age >= s.overdueAfter {
			seen.worst("SettleAge", queue, age.Seconds())
		}
	}
	options.Left = func(of cursor.Cursor) {
		if of.Settings.Kind == cursor.KindKeyed {
			s.timer.Settle(of.Queue, string(sortkey.EverySortKey), time.Now())
			return
		}
		s.timer.Gap(of.Queue, time.Now())
	}
	options.Announce = func(ctx context.Context, a cursor.Announcement) error {
		metrics.Count(metricOf[a.Kind], 1)
		return s.consumers.Sorter.Announce(ctx, a)
	}
	return options
}

func (s *sweeper) consumerOptions(metrics *emf.Metrics, seen *troubles) delivery.SweepOptions {
	options := s.consumers
	options.Announce = func(ctx context.Context, a delivery.Announcement) error {
		switch a.Kind {
		case "consumer.missing":
			metrics.Count("ConsumersMissing", 1)
			seen.count("ConsumersMissing", a.Queue)
		case "consumer.reply-refused":
			metrics.Count("RepliesRefused", 1)
		case "consumer.lags":
			seen.worst("ConsumerLag", a.Queue, a.Age.Seconds())
		case "consumer.blocked":
			seen.count("ConsumersBlocked", a.Queue)
		case "consumer.in-doubt":
			seen.count("ConsumersInDoubt", a.Queue)
		case "consumer.quarantined":
			seen.count("ConsumersQuarantined", a.Queue)
		}
		return s.consumers.Announce(ctx, a)
	}
	return options
}

// tellAge writes how old a round of once a day is, in the runs in which it is under way or ends:
// the rest of the day the metric costs nothing.
func tellAge(metrics *emf.Metrics, name string, round cursor.Round) {
	if round.Ended || round.Age > 0 {
		metrics.Add(name, emf.Seconds, round.Age.Seconds())
	}
}

// tellWhole writes what a whole round saw, in the run in which it ended: also where that is 0, so
// that an alarm ends; but of keyed queues, which few stacks have, only where some wait.
func tellWhole(metrics *emf.Metrics, seen delivery.SweepReport) {
	if it := seen.Sorter; it.Waiting > 0 || it.Overdue > 0 {
		metrics.Add("Waiting", emf.Count, float64(it.Waiting))
		metrics.Add("SettleAge", emf.Seconds, it.Overdue.Seconds())
	}
	metrics.Add("OpenGaps", emf.Count, float64(seen.Sorter.OpenGaps))
	metrics.Add("GapAge", emf.Seconds, seen.Sorter.OldestGap.Seconds())
	metrics.Add("ConsumersBlocked", emf.Count, float64(seen.Blocked))
	metrics.Add("ConsumersLagging", emf.Count, float64(seen.Lagging+seen.Missing))
	metrics.Add("ConsumerLag", emf.Seconds, seen.OldestLag.Seconds())
	metrics.Add("ConsumersInDoubt", emf.Count, float64(seen.InDoubt))
	metrics.Add("ConsumersQuarantined", emf.Count, float64(seen.Quarantined))
}

// sweepChains times chains out, and finishes those that the stream's handler did not finish.
func (s *sweeper) sweepChains(ctx context.Context, metrics *emf.Metrics,
	seen *troubles) (xorack.SweepReport, error) {
	did, err := s.acker.Sweep(ctx, s.announceChain(seen))
	metrics.Count("SweptChains", did.Chains)
	metrics.Count("ChainsTimedOut", did.TimedOut)
	metrics.Count("ChainsFinished", did.Finished)
	metrics.Count("Errors", did.Failed)
	return did, err
}

func (s *sweeper) announceChain(seen *troubles) xorack.Announce {
	return func(ctx context.Context, c xorack.Chain) error {
		if c.End() == xorack.TimedOut {
			seen.count("ChainsTimedOut", c.Tag)
		}
		return s.chains(ctx, c)
	}
}

var metricOf = map[cursor.AnnouncementKind]string{
	cursor.GapOpened:   "GapsOpened",
	cursor.GapClosed:   "GapsClosed",
	cursor.GapSkipped:  "GapsSkipped",
	cursor.MessageLate: "LateAnnounced",
	cursor.KeysBehind:  "KeysBehind",
}
