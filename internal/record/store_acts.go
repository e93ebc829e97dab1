package record

import (
	"context"

	"github.com/streamsort/streamsort/internal/ddb"
)

// Key is where the operation stands among those of its queue: the same for each try of
// an act of a batch, which are all of one time.
func (o Operation) Key() string { return operationKey(o) }

// Ended reports whether it is known how the operation ended.
func (o Operation) Ended() bool { return o.Done || o.Error != "" }

// marking is an act, and the one that the consumer was seen to have before it.
type marking struct{ seen, key string }

// Marking is the store for one act of a batch: its changes of a consumer are made only while
// the consumer's Act is the one that was seen, and leave the key as its Act. No two acts have
// one key, so that an act which was seen not to be done is done once, whoever else tries
// it, however late.
func (s *Store) Marking(seen, key string) *Store {
	marked := *s
	marked.act = marking{seen, key}
	return &marked
}

// mark adds the act to a change.
func (m marking) mark(condition ddb.Cond, do []ddb.Action) (ddb.Cond, []ddb.Action) {
	if m.key == "" {
		return condition, do
	}
	unmarked := attrAct.Missing()
	if m.seen != "" {
		unmarked = attrAct.Eq(ddb.Text(m.seen))
	}
	return ddb.And(condition, unmarked), append(do, attrAct.Set(ddb.Text(m.key)))
}

// BeginAct stores an act of a batch as asked for, unless it stands there, and returns what
// stands there then. 1 write unit.
//
// Lost response, another did it first: the act is there, with its end where it is known. We
// die right after: the next try finds it without an end.
func (s *Store) BeginAct(ctx context.Context, o Operation) (Operation, error) {
	a, err := s.engine.Do(ctx, ddb.Put{
		Op: ddb.Op{Op: "begin act", Table: &s.audit}, Item: encodeOperation(o.Key(), o), If: attrQueue.Missing(),
	})
	if err != nil || a.Held {
		return o, err
	}
	return ddb.Decoded(a.Item, decodeOperation)
}

// EndAct stores how an act of a batch ended: it was done where why is empty. What is known is
// not changed. It returns what stands there then; the zero Operation where there is no such act.
// 1 write unit.
//
// Lost response, another did it first: what stands there is the end. We die right after:
// nothing is left to do.
func (s *Store) EndAct(ctx context.Context, queue, key, why string) (Operation, error) {
	end := attrDone.Set(ddb.Bool(true))
	if why != "" {
		end = attrError.Set(ddb.Text(why))
	}
	a, err := s.engine.Do(ctx, ddb.Update{
		Op: ddb.Op{Op: "end act", Table: &s.audit}, Key: ddb.Fields{attrQueue: ddb.Text(queue), attrOperation: ddb.Text(key)}.Item(),
		If: ddb.And(attrQueue.Exists(), attrDone.Missing(), attrError.Missing()), Do: []ddb.Action{end},
	})
	if err != nil || !a.Item.Exists() {
		return Operation{}, err
	}
	return ddb.Decoded(a.Item, decodeOperation)
}
