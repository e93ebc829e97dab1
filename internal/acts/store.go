package acts

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/internal/record"
	"github.com/streamsort/streamsort/pkg/table"
)

// The attributes of a batch.
const (
	attrQueue     ddb.Path = "queue"
	attrOperation ddb.Path = "operation"
	attrVersion   ddb.Path = "v"
	attrState     ddb.Path = "state"
	attrAsk       ddb.Path = "ask"
	attrProgress  ddb.Path = "progress"
	attrStarted   ddb.Path = "started" // ms
	attrEnded     ddb.Path = "ended"   // ms
	attrRev       ddb.Path = "rev"
	attrBy        ddb.Path = "by"
	attrLease     ddb.Path = "leaseUntil" // ms
)

const layout = 1

// partition has all batches. The keys of a queue of that name begin with a digit, or with "id ".
const partition = " acts"

// The beginnings of the keys: of a batch, and of the item that says that it is open.
const ofBatch, ofOpen = "of ", "open "

// ID names a batch.
type ID struct{ Tenant, ID string }

func (id ID) String() string { return id.Tenant + " " + id.ID }

// Name is whose the batch is, and its id.
func (a Ask) Name() ID { return ID{a.Tenant, a.ID} }

// ParseID reads what String wrote: a tenant has no space.
func ParseID(text string) ID {
	tenant, id, _ := strings.Cut(text, " ")
	return ID{tenant, id}
}

func keyOf(begin string, id ID) ddb.Item {
	return ddb.Fields{attrQueue: ddb.Text(partition), attrOperation: ddb.Text(begin + id.String())}.Item()
}

// Store has the batches, in the operations table. Every method is exactly one request, with the promises of
// [record.Store].
type Store struct {
	engine ddb.Engine
	table  *table.Definition
}

// NewStore returns the Store on an engine that has the operations table.
func NewStore(engine ddb.Engine, operations table.Definition) *Store {
	return &Store{engine, &operations}
}

// texts are values of this package's own: they can always be written.
func texts(v any) ddb.Value {
	text, _ := json.Marshal(v)
	return ddb.Text(string(text))
}

func decode(it ddb.Item) (Batch, error) {
	if !it.Exists() {
		return Batch{}, nil
	}
	d := ddb.Decoder{Item: it}
	d.Layout(attrVersion, layout)
	b := Batch{
		State: State(d.Text(attrState)), Started: d.MillisOr(attrStarted), Ended: d.MillisOr(attrEnded),
		LeaseUntil: d.MillisOr(attrLease), Rev: d.Number(attrRev), By: d.TextOr(attrBy, ""),
	}
	for name, into := range map[ddb.Path]any{attrAsk: &b.Ask, attrProgress: &b.Progress} {
		if err := json.Unmarshal([]byte(d.Text(name)), into); err != nil {
			d.Fail(name, "is not what this version writes")
		}
	}
	if d.Err != nil {
		return Batch{}, fmt.Errorf("batch of acts: %w", d.Err)
	}
	return b, nil
}

// Open stores that a batch is open, for the sweep, before it is. 1 write unit.
//
// Lost response, another did it first: it is stored. We die right after: the sweep finds that it was not
// started, and closes it when it can no longer be.
func (s *Store) Open(ctx context.Context, id ID) error {
	_, err := s.engine.Do(ctx, ddb.Put{Op: ddb.Op{Op: "open acts", Table: s.table}, Item: ddb.Fields{
		attrQueue: ddb.Text(partition), attrOperation: ddb.Text(ofOpen + id.String()), attrVersion: ddb.Int(layout),
	}.Item()})
	return err
}

// Close stores that nothing is left to do of a batch. 1 write unit.
//
// Lost response, another did it first: it is closed. We die right after: nothing is left to do.
func (s *Store) Close(ctx context.Context, id ID) error {
	_, err := s.engine.Do(ctx, ddb.Delete{Op: ddb.Op{Op: "close acts", Table: s.table}, Key: keyOf(ofOpen, id)})
	return err
}

// Create stores a batch that was looked at. 1 write unit for each KB.
//
// Lost response: the repeat stores the same, since nobody knows its id yet. We die right after: nobody
// starts it, and it expires.
func (s *Store) Create(ctx context.Context, b Batch) error {
	_, err := s.engine.Do(ctx, ddb.Put{Op: ddb.Op{Op: "create acts", Table: s.table}, Item: ddb.Fields{
		attrQueue: ddb.Text(partition), attrOperation: ddb.Text(ofBatch + b.Name().String()), attrVersion: ddb.Int(layout),
		attrState: ddb.Text(string(Dry)), attrAsk: texts(b.Ask), attrProgress: texts(b.Progress), attrRev: ddb.Int(0),
		record.AttrExpires: ddb.Seconds(b.At.Add(keptDry)),
	}.Item()})
	return err
}

// Read reads a batch; the zero Batch where there is none. 1 read unit for each 4 KB.
func (s *Store) Read(ctx context.Context, id ID) (Batch, error) {
	a, err := s.engine.Do(ctx, ddb.Get{Op: ddb.Op{Op: "acts", Table: s.table}, Key: keyOf(ofBatch, id), Strong: true})
	if err != nil {
		return Batch{}, err
	}
	return ddb.Decoded(a.Item, decode)
}

// update changes a batch if the condition holds. It returns the batch that is stored
// afterwards, and whether the condition held.
func (s *Store) update(ctx context.Context, op string, id ID, condition ddb.Cond, do ...ddb.Action) (Batch, bool, error) {
	a, err := s.engine.Do(ctx, ddb.Update{Op: ddb.Op{Op: op, Table: s.table}, Key: keyOf(ofBatch, id), If: condition, Do: do})
	if err != nil {
		return Batch{}, false, err
	}
	b, err := ddb.Decoded(a.Item, decode)
	return b, a.Held && err == nil, err
}

func isIn(s State) ddb.Cond { return attrState.Eq(ddb.Text(string(s))) }

func setState(s State) ddb.Action { return attrState.Set(ddb.Text(string(s))) }

// Start has a batch that was looked at carried out: it no longer expires. It returns the batch that stands there. 1 write unit for each KB.
//
// Lost response, another did it first: it is running, and is returned. We die right after: the sweep
// carries it out.
func (s *Store) Start(ctx context.Context, id ID, now time.Time) (Batch, error) {
	b, _, err := s.update(ctx, "start acts", id, isIn(Dry), setState(Running), attrStarted.Set(ddb.Millis(now)), record.AttrExpires.Remove())
	return b, err
}

// Stop has a batch end behind the page at hand, or at once where it was not started. It returns the
// batch that stands there. 1 write unit for each KB.
//
// Lost response, another did it first: it is stopping, or over. We die right after: the sweep ends
// it.
func (s *Store) Stop(ctx context.Context, seen Batch, now time.Time) (Batch, error) {
	to := []ddb.Action{setState(Stopping)}
	if seen.State == Dry {
		to = []ddb.Action{setState(Stopped), attrEnded.Set(ddb.Millis(now))}
	}
	b, _, err := s.update(ctx, "stop acts", seen.Name(), ddb.And(isIn(seen.State), attrState.In(ddb.Text(string(Dry)), ddb.Text(string(Running)))), to...)
	return b, err
}

// Save stores how far a batch is, and until when nobody else goes on with it, if nobody did since
// it was seen. by is a name that no other call has. 1 write unit for each KB.
//
// Lost response: the repeat finds its own by: true. Another did it first: false, and theirs is
// returned. We die right after: the next one goes on from there, once the lease is over.
func (s *Store) Save(ctx context.Context, b Batch, by string) (Batch, bool, error) {
	do := []ddb.Action{
		attrProgress.Set(texts(b.Progress)), attrRev.Set(ddb.Int(b.Rev + 1)), attrBy.Set(ddb.Text(by)), attrLease.Set(ddb.Millis(b.LeaseUntil)),
	}
	if b.State.over() {
		do = append(do, setState(b.State), attrEnded.Set(ddb.Millis(b.Ended)))
	}
	unchanged := ddb.And(attrRev.Eq(ddb.Int(b.Rev)), attrState.In(ddb.Text(string(Running)), ddb.Text(string(Stopping))))
	saved, held, err := s.update(ctx, "save acts", b.Name(), unchanged, do...)
	return saved, err == nil && (held || saved.By == by), err
}

// Opened reads which batches are open, behind one of them. Half a read unit for each 4 KB.
func (s *Store) Opened(ctx context.Context, after ID) (page []ID, next ID, err error) {
	q := ddb.Query{
		Op: ddb.Op{Op: "open batches", Table: s.table}, Partition: ddb.Text(partition), Where: attrOperation.BeginsWith(ddb.Text(ofOpen)),
	}
	if after != (ID{}) {
		q.After = keyOf(ofOpen, after)
	}
	a, err := s.engine.Do(ctx, q)
	for _, it := range a.Items {
		page = append(page, ParseID(strings.TrimPrefix(it.Get(attrOperation).Str(), ofOpen)))
	}
	if a.Next.Exists() {
		next = page[len(page)-1]
	}
	return page, next, err
}

// List reads a tenant's batches, the last ones first, behind one of them. Half a read unit for each
// 4 KB.
func (s *Store) List(ctx context.Context, tenant, after string, limit int) (page []Batch, next string, err error) {
	q := ddb.Query{
		Op: ddb.Op{Op: "list acts", Table: s.table}, Partition: ddb.Text(partition), Backwards: true, Limit: limit,
		Where: attrOperation.BeginsWith(ddb.Text(ofBatch + ID{tenant, ""}.String())),
	}
	if after != "" {
		q.After = keyOf(ofBatch, ID{tenant, after})
	}
	a, err := s.engine.Do(ctx, q)
	if err != nil {
		return nil, "", err
	}
	for _, it := range a.Items {
		b, err := ddb.Decoded(it, decode)
		if err != nil {
			return nil, "", err
		}
		page = append(page, b)
	}
	if a.Next.Exists() {
		next = page[len(page)-1].ID
	}
	return page, next, nil
}
