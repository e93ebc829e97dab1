package endpoint

import (
	"context"

	"github.com/streamsort/streamsort/internal/ddb"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/tenant"
)

// Delete takes an endpoint away. The error is [ErrNone] where it is not there. 3 write units.
//
// Lost response: the same again finds none. Another did it first: the same. We die right after:
// nothing is left to do but to note that it was done.
func (s *Store) Delete(ctx context.Context, p Place, who delivery.Who) error {
	return s.noted(ctx, p, "removeEndpoint", "", nil, who, func() error {
		a, err := s.engine.Do(ctx, ddb.Delete{Op: ddb.Op{Op: "delete endpoint", Table: &s.table},
			Key: p.key(), If: attrQueue.Exists()})
		if err == nil && !a.Held {
			return ErrNone
		}
		return err
	})
}

// EraseQueue deletes the endpoints of a queue that was erased, those of its name, whichever
// consumer they are for. Half a read unit or one, and a write unit for each.
//
// Lost response, another did it first: it is gone. We die right after: the sweep comes to the queue
// again. One that is put meanwhile, by a call that looked at the queue before, is found by a later
// look: there is one when an hour is over.
func (s *Store) EraseQueue(ctx context.Context, queue string) (left bool, err error) {
	if len(queue) > MaxName {
		return false, nil
	}
	p := Place{Name: queue}
	// Also of queues whose names go on behind a space.
	_, err = s.erase(ctx, p.tenant(), p.sort(), func(found Place) bool { return found.Name == queue })
	return false, err
}

// EraseTenant deletes all endpoints of a tenant whose queues were erased, and returns how many
// there were: before that, queues would be left that wait for one. 2 write units for the record of
// it where there are any, and one for each.
//
// Lost response, another did it first: they are gone. We die right after: the operator repeats the
// order, since there was no answer.
func (s *Store) EraseTenant(ctx context.Context, of, reason string,
	who delivery.Who) (n int, err error) {
	if there, _, err := s.List(ctx, of, "", "", 1); err != nil || len(there) == 0 {
		return 0, err
	}
	all := Place{Name: tenant.Name(of, ""), Prefix: true}
	err = s.noted(ctx, all, "erase", reason, nil, who, func() (err error) {
		n, err = s.erase(ctx, of, keysBegin, func(Place) bool { return true })
		return err
	})
	return n, err
}

// erase deletes those of a tenant's endpoints whose sort keys begin so, and that are meant.
func (s *Store) erase(ctx context.Context, of, begins string,
	meant func(Place) bool) (n int, err error) {
	query := ddb.Query{
		Op: ddb.Op{Op: "endpoints to erase", Table: &s.table}, Partition: partitionOf(of),
		Where: attrConsumer.BeginsWith(ddb.Text(begins)),
		Limit: pageSize, Strong: true,
	}
	for {
		a, err := s.engine.Do(ctx, query)
		if err != nil {
			return n, err
		}
		for _, it := range a.Items {
			p := placeOf(it.Get(attrConsumer).Str())
			if !meant(p) {
				continue
			}
			if _, err := s.engine.Do(ctx,
				ddb.Delete{Op: ddb.Op{Op: "erase endpoint", Table: &s.table}, Key: p.key()}); err != nil {
				return n, err
			}
			n++
		}
		if query.After = a.Next; !a.Next.Exists() {
			return n, nil
		}
	}
}
