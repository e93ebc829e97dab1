package big

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/streamsort/streamsort/internal/queuelog"
	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// rewound sets a consumer back over all that is stored, of which the expiry of each has to
// be pushed forward. The process that delivers goes on with it, in one invocation after the other,
// and hands nothing on before it is done.
func rewound(w *world) error {
	ctx, last := context.Background(), w.of(1_000_000)
	if err := w.backlog(last, 350); err != nil {
		return err
	}
	if _, _, err := w.store.Requests(queuelog.Inside{}).Move(ctx, "big", cursor.Range{From: 0, To: last}, 0, w.now); err != nil {
		return err
	}
	if err := w.consumer(delivery.Latest); err != nil {
		return err
	}
	w.now = w.now.Add(8 * 24 * time.Hour)
	each := sideBySide(55 * time.Second)
	var all spent
	// The call of the operator is killed with its time; what it has kept stays kept.
	_ = w.deliver(&all, sideBySide(25*time.Second), func(d *delivery.Deliverer) error {
		_, err := d.Operate(ctx, delivery.Order{Kind: "rewind", Queue: "big", Consumer: "c", Reason: "again", Op: "op"})
		return err
	})
	got := int64(0)
	reader := delivery.Reader{Name: "c", MaxMessages: 1000, Handle: func(_ context.Context, b delivery.Batch) error {
		got += int64(len(b.Messages))
		return errors.New("enough is seen")
	}}
	for got == 0 {
		if int64(all.invocations) > 3+last*6/5/int64(each.requests) {
			return fmt.Errorf("after %d invocations it still starts", all.invocations)
		}
		_ = w.deliver(&all, each, func(d *delivery.Deliverer) error { return d.Deliver(ctx, "big", reader, -1).Err })
	}
	w.line(fmt.Sprintf("a rewind over %d messages, up to its first batch", last), all)
	read := float64(last) * 600 / 4096
	return errors.Join(
		atMost("requests", float64(all.requests), 1.05*float64(last)+100),
		atMost("read units", all.units.Reads, 1.2*read+100),
		atMost("write units", all.units.Writes, 1.05*float64(last)+50))
}
