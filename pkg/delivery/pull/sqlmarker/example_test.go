package sqlmarker_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/streamsort/streamsort/pkg/cursor"
	"github.com/streamsort/streamsort/pkg/delivery"
	"github.com/streamsort/streamsort/pkg/delivery/pull"
	"github.com/streamsort/streamsort/pkg/delivery/pull/sqlmarker"
)

// A consumer books messages in its own database: each once, in order, whatever dies in between.
func Example() {
	ctx := context.Background()
	check := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	// In memory, for this example; on AWS cursor.NewDynamo and delivery.NewDynamo, or pullhttp.New
	// in the place of all of it.
	sorter, err := cursor.New(cursor.NewMemory(), nil)
	check(err)
	deliverer, err := delivery.New(delivery.NewMemory(), sorter, nil)
	check(err)
	claims, err := delivery.NewClaims(deliverer, nil)
	check(err)
	for _, seq := range []int64{2, 3, 1} { // they come out of order
		err := sorter.Put(ctx,
			cursor.Message{Queue: "orders", Seq: seq, Body: fmt.Append(nil, "order ", seq)})[0].Err
		check(err)
	}

	folder, err := os.MkdirTemp("", "example")
	check(err)
	defer func() { _ = os.RemoveAll(folder) }()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(folder, "ledger.db")+
		"?_txlock=immediate&_pragma=busy_timeout(10000)")
	check(err)
	defer db.Close()
	check(sqlmarker.Install(ctx, db, sqlmarker.SQLite))
	markers, err := sqlmarker.Open(ctx, db, sqlmarker.SQLite, "my stack's id")
	check(err)
	_, err = db.ExecContext(ctx, "CREATE TABLE ledger (entry TEXT NOT NULL)")
	check(err)

	err = markers.ConsumeAll(ctx, claims, "orders", "ledger", 8,
		func(ctx context.Context, tx *sql.Tx, b delivery.Batch) error {
			for _, m := range b.Messages {
				if _, err := tx.ExecContext(ctx, "INSERT INTO ledger (entry) VALUES (?)",
					string(m.Body)); err != nil {
					return err
				}
			}
			return nil
		}, &pull.ConsumeOptions{
			Lease:      30 * time.Second, // a killed process's claims wait so long: the least there is
			UntilEmpty: true,             // this example ends
		})
	check(err)

	rows, err := db.QueryContext(ctx, "SELECT entry FROM ledger")
	check(err)
	defer rows.Close()
	for rows.Next() {
		var entry string
		check(rows.Scan(&entry))
		fmt.Println(entry)
	}
	check(rows.Err())
	// Output:
	// order 1
	// order 2
	// order 3
}
