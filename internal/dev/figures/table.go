package figures

import (
	"context"
	"fmt"
)

// The titles of the tables that are drawn.
const (
	TitleOrders = "Messages put one by one"
	TitleAcks   = "Acks, an edge"
)

// Table compares one operation in several cases.
type Table struct {
	Title, About string
	// Case says what the rows' names are.
	Case string
	// Older names the system whose algorithm stands beside ours.
	Older string
	Rows  []Row
}

// Row is a case: what each message, edge or batch takes.
type Row struct {
	Name        string
	Limit, Ours Units
	// Older is what the older system's algorithm takes; nil where it has none.
	Older *Units
	// FIFO is what SQS FIFO costs, in dollars a million; 0 where it has nothing of the kind.
	FIFO float64
	// Why is why Ours is more than a tenth above the limit.
	Why string
}

// Ratio is what ours costs, as a part of what the limit costs.
func (r Row) Ratio() float64 { return r.Ours.Dollars() / r.Limit.Dollars() }

func (r Row) beside() beside { return beside{r.Name, r.Ratio(), r.Why} }

// Count counts all tables.
func Count(ctx context.Context) ([]Table, error) {
	var tables []Table
	for _, count := range []func(context.Context) (Table, error){orders, writers, batches, delivering, handing, acking, trees, once} {
		t, err := count(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Title, err)
		}
		for _, r := range t.Rows {
			if b := r.beside(); b.rounded() < 1 {
				return nil, fmt.Errorf("%s, %s: %s of its limit, so that is no limit", t.Title, r.Name, b.shown())
			}
		}
		if _, err := whys(t.besides()); err != nil {
			return nil, fmt.Errorf("%s: %w", t.Title, err)
		}
		tables = append(tables, t)
	}
	return tables, nil
}
