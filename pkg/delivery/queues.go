package delivery

import (
	"context"
	"strings"
)

// Queue is a queue as [Claims].Queues lists it.
type Queue struct {
	Name string
	// Position is the last seq up to which nothing is missing: what a claim can get ends there.
	Position int64
}

// scanned is how many cursors one page reads.
const scanned = 1000

// Queues implements [Claims]: 1 read unit for about 70 queues, of any name.
func (p *puller) Queues(ctx context.Context,
	prefix, after string) (page []Queue, next string, err error) {
	read, err := p.d.sorter.Queues(ctx, after, scanned)
	if err != nil {
		return nil, "", err
	}
	for _, cur := range read.Cursors {
		if strings.HasPrefix(cur.Queue, prefix) && !cur.Erased() {
			page = append(page, Queue{cur.Queue, cur.Position})
		}
	}
	return page, read.Next, nil
}

// Create implements [Claims]: the cost is that of [Deliverer.Create].
//
// Lost response, or another did it first: the consumer is there and stays as it is. We die right
// after: the next claim finishes its start.
func (p *puller) Create(ctx context.Context, queue, consumer string) error {
	_, err := p.d.Create(ctx, queue, consumer, First)
	return err
}
