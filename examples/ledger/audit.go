package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/streamsort/streamsort/internal/dev/traffic"
	"github.com/streamsort/streamsort/pkg/delivery"
)

// want are the messages of each queue in their order, each once.
func want(arrivals []traffic.Arrival) map[string][]traffic.Arrival {
	byQueue := map[string][]traffic.Arrival{}
	for _, a := range arrivals {
		byQueue[a.Queue] = append(byQueue[a.Queue], a)
	}
	for queue, list := range byQueue {
		slices.SortStableFunc(list, func(a, b traffic.Arrival) int { return int(a.Seq - b.Seq) })
		byQueue[queue] = slices.CompactFunc(list, func(a, b traffic.Arrival) bool { return a.Seq == b.Seq })
	}
	return byQueue
}

// audit checks the books: every message once, in order, as it was sent, and no
// byte from nowhere.
func audit(ctx context.Context, db *sql.DB, d *delivery.Deliverer, wanted map[string][]traffic.Arrival, out io.Writer) error {
	rows, err := db.QueryContext(ctx, "SELECT queue, seq, digest FROM ledger ORDER BY line")
	if err != nil {
		return err
	}
	defer rows.Close()
	booked := map[string]int{}
	lines, twice, disorder, changed, lost := 0, 0, 0, 0, 0
	for rows.Next() {
		var queue, digest string
		var seq int64
		if err := rows.Scan(&queue, &seq, &digest); err != nil {
			return err
		}
		lines++
		list, at := wanted[queue], booked[queue]
		switch {
		case at > 0 && seq <= list[at-1].Seq:
			twice++
		case at >= len(list) || list[at].Seq != seq:
			disorder++
		case list[at].Sum != digest:
			changed++
			booked[queue]++
		default:
			booked[queue]++
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for queue, list := range wanted {
		lost += len(list) - booked[queue]
	}
	var sum int64
	if err := db.QueryRowContext(ctx, "SELECT sum(balance) FROM accounts").Scan(&sum); err != nil {
		return err
	}
	claims, quarantined, err := claimed(ctx, d, wanted)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "    messages booked     %d of %d queues, in %d claims\n", lines, len(wanted), claims)
	fmt.Fprintf(out, "    booked twice        %d\n", twice)
	fmt.Fprintf(out, "    out of order        %d\n", disorder)
	fmt.Fprintf(out, "    lost                %d\n", lost)
	fmt.Fprintf(out, "    changed             %d\n", changed)
	fmt.Fprintf(out, "    sum of all accounts %d\n", sum)
	fmt.Fprintf(out, "    left in doubt       %d\n", quarantined)
	if twice+disorder+lost+changed+quarantined > 0 || sum != 0 {
		return errors.New("the books are wrong")
	}
	return nil
}

// claimed counts the claims that were made, and those that nobody settled.
func claimed(ctx context.Context, d *delivery.Deliverer, wanted map[string][]traffic.Arrival) (claims int64, quarantined int, err error) {
	for queue := range wanted {
		all, err := d.Status(ctx, queue)
		if err != nil {
			return 0, 0, err
		}
		for _, c := range all {
			if c.Name != consumerName {
				continue
			}
			claims += c.Token.N
			for _, q := range c.Quarantine {
				if q != (delivery.Quarantined{}) {
					quarantined++
				}
			}
		}
	}
	return claims, quarantined, nil
}
