package runtime

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/streamsort/streamsort/internal/announce"
	"github.com/streamsort/streamsort/internal/assetfile"
	"github.com/streamsort/streamsort/internal/dynamo"
	"github.com/streamsort/streamsort/internal/emf"
	"github.com/streamsort/streamsort/internal/quota"
	"github.com/streamsort/streamsort/internal/settings"
	"github.com/streamsort/streamsort/internal/trouble"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/xorack"
)

// Deps are what a function may take of its environment: its settings, and what they describe. All
// of it works on one client, so that one set of connections serves it. What cannot be created is
// nil, and [Deps.Err] says why.
type Deps struct {
	settings.Settings
	Client *dynamodb.Client
	// valid reports that the settings are.
	valid bool
	err   error
	// emitter is the process's, also of a handler that another one was before.
	emitter *emf.Emitter
	after   []func(context.Context, *emf.Metrics)
	// sorter is the one that Sorter returned.
	sorter *cursor.Sorter
}

func newDeps(emitter *emf.Emitter) *Deps {
	d := &Deps{emitter: emitter}
	var err error
	d.Settings, err = settings.FromEnvironment()
	d.Check(err)
	d.valid = err == nil
	d.Client, err = dynamo.New(nil)
	d.Check(err)
	// What cannot be asked for, or sent, is counted, and nothing else: the stream makes up for the
	// eager calls, and the sweep for the wake-ups.
	d.after = append(d.after, func(ctx context.Context, metrics *emf.Metrics) {
		taken, failed := d.Eager.Flush(ctx)
		metrics.Count("EagerCalls", taken)
		metrics.Count("EagerCallsFailed", failed)
	}, func(ctx context.Context, metrics *emf.Metrics) {
		sent, failed := d.Timer.Flush(ctx)
		metrics.Count("WakeUpsSent", sent)
		metrics.Count("WakeUpsFailed", failed)
	})
	return d
}

// Check notes what is wrong, so that the function does not start. Nil is nothing.
//
//go:noinline
func (d *Deps) Check(err error) { d.err = errors.Join(d.err, err) }

// Err joins everything that is wrong so far.
func (d *Deps) Err() error { return d.err }

// Sorter is the Sorter on the tables.
func (d *Deps) Sorter() *cursor.Sorter {
	if d.sorter == nil && d.valid {
		store, err := cursor.NewDynamo(d.Client, d.Names)
		d.Check(err)
		d.sorter, err = cursor.New(store, d.SorterOptions())
		d.Check(err)
	}
	return d.sorter
}

// Deliverer is a Deliverer on the tables, with these options; those that the environment has are
// set here. It needs STREAMSORT_CONSUMERS_TABLE and STREAMSORT_AUDIT_TABLE.
func (d *Deps) Deliverer(options delivery.Options) *delivery.Deliverer {
	d.Check(d.NeedConsumers())
	if d.Sorter() == nil {
		return nil
	}
	options.KnownQueues = d.KnownQueues
	if d.Timer != nil {
		options.WakeUp, options.WakeCircuit = d.Timer.Consumer, d.Timer.Circuit
	}
	deliverer, err := delivery.New(delivery.NewDynamo(d.Client, d.Consumers), d.Sorter(), &options)
	d.Check(err)
	return deliverer
}

// Acker is an Acker on the chains' table. What it finds of late chains goes to the timer.
func (d *Deps) Acker() *xorack.Acker {
	if err := d.NeedChains(); err != nil {
		d.Check(err)
		return nil
	}
	store := xorack.NewDynamo(d.Client, d.Chains)
	options := &xorack.Options{Tombstone: d.Tombstone}
	if d.Timer != nil {
		options.WakeUp = d.Timer.Chain
	}
	acker, err := xorack.New(store, options)
	d.Check(err)
	return acker
}

// Announcer publishes what happens to queues, consumers and chains.
func (d *Deps) Announcer() *announce.Announcer {
	announcer, err := announce.New(d.EventBus, d.AnnounceTopic, d.AnnounceFunction)
	d.Check(err)
	return announcer
}

// Ends handles the ends of chains: of tracked batches by the deliverer, of all others by announcing
// and listing them.
func (d *Deps) Ends(deliverer *delivery.Deliverer, announcer *announce.Announcer) xorack.Announce {
	return announce.Batches(
		deliverer.Ender(announce.Listed(d.Trouble(), d.Tombstone, announcer.Chain)))
}

// Trouble has who is in trouble, on STREAMSORT_TROUBLE_TABLE.
func (d *Deps) Trouble() *trouble.Store {
	return trouble.NewStore(dynamo.NewEngine(d.Client), trouble.Definition(d.Consumers.Trouble))
}

// Quotas are the tenants' quotas: those of quotas.json, which lies beside the program. It is nil
// where STREAMSORT_QUOTAS is not true.
func (d *Deps) Quotas() *quota.Keeper {
	if !d.Settings.Quotas {
		return nil
	}
	all, err := assetfile.Load(os.Getenv("LAMBDA_TASK_ROOT"), quota.File,
		func(text []byte, _ func(string) (string, bool)) ([]quota.Quota, error) {
			return quota.Read(text)
		})
	d.Check(err)
	on := trouble.Definition(d.Consumers.Trouble)
	return quota.NewKeeper(quota.NewStore(dynamo.NewEngine(d.Client), on), all, time.Now)
}

// CountRates has each invocation's end count what its metrics say was stored and delivered, by
// which the summary has its rates.
func (d *Deps) CountRates() {
	counter := trouble.NewCounter(d.Trouble(), time.Now)
	d.after = append(d.after, func(ctx context.Context, metrics *emf.Metrics) {
		counter.Add(trouble.Counts{Stored: int64(metrics.Counted("MessagesStored")),
			Delivered: int64(metrics.Counted("Delivered"))})
		counter.Flush(ctx)
	})
}

// CountSettled counts what was done to a keyed queue.
func CountSettled(metrics *emf.Metrics, done cursor.Settled) {
	metrics.Count("Settled", done.Placed)
	metrics.Count("Late", done.Late)
	metrics.Count("Dropped", done.Dropped)
	metrics.Count("Unlinked", done.Unlinked)
	metrics.Count("Stale", done.Stale)
}
