package archive_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/streamsort/streamsort/pkg/archive"
	"github.com/streamsort/streamsort/pkg/cursor"
)

// folder is a store of one's own: what a bucket would be.
type folder string

func (f folder) Put(_ context.Context, key string, document []byte) error {
	path := filepath.Join(string(f), filepath.FromSlash(key))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, document, 0o600)
}

func (f folder) Get(_ context.Context, key string) ([]byte, error) {
	document, err := os.ReadFile(filepath.Join(string(f), filepath.FromSlash(key)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return document, err
}

func (f folder) Delete(_ context.Context, keys []string) error {
	for _, key := range keys {
		err := os.Remove(filepath.Join(string(f), filepath.FromSlash(key)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func Example() {
	ctx := context.Background()
	sorter, err := cursor.New(cursor.NewMemory(), nil)
	if err != nil {
		panic(err)
	}
	for seq := range int64(3) {
		if err := sorter.Put(ctx, cursor.Message{Queue: "orders", Seq: seq + 1, Body: fmt.Append(nil, seq+1)})[0].Err; err != nil {
			panic(err)
		}
	}
	dir, err := os.MkdirTemp("", "archive")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	shelf := archive.New(folder(dir), sorter)

	// The sweep does this with what all consumers are past.
	kept, err := shelf.Keep(ctx, "orders", 3, 1000)
	fmt.Println(kept.Messages, "archived, up to", kept.To, err)
	done, err := shelf.Replay(ctx, archive.Range{Queue: "orders", From: 2, To: 3, Into: "orders again"}, 1000)
	fmt.Println(done.Messages, "put again, up to", done.Last, err)
	// Output:
	// 3 archived, up to 3 <nil>
	// 2 put again, up to 3 <nil>
}
