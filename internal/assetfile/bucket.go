package assetfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/streamsort/streamsort/internal/awscall"
)

// Variable is the environment variable that names where the files are in a bucket:
// s3://BUCKET/PREFIX, before each file's name. Where it is not set they lie beside the program.
const Variable = "STREAMSORT_CONFIG"

const (
	// readTime bounds the reading of one file.
	readTime = 5 * time.Second
	// lookTime bounds a look at all files: it is part of an invocation that has something else to
	// do.
	lookTime = 2 * time.Second
	// maxText bounds a file: a process that has memory for its work has it for this.
	maxText = 1 << 20
)

// read are the texts of the files that came from a bucket, by their addresses, as they were seen
// last.
var read struct {
	sync.Mutex
	texts map[string][]byte
}

// Text is a file's, from the bucket of [Variable], or from a folder. path says where it is. A
// process reads a file of a bucket once, for all its readers; only [Changed] reads it again.
func Text(folder, name string) (text []byte, path string, err error) {
	prefix := os.Getenv(Variable)
	if prefix == "" {
		path = filepath.Join(folder, name)
		text, err = os.ReadFile(path)
		return text, path, err
	}
	path = prefix + name
	read.Lock()
	defer read.Unlock()
	if text, is := read.texts[path]; is {
		return text, path, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), readTime)
	defer cancel()
	if text, err = get(ctx, path); err != nil {
		return nil, path, fmt.Errorf("%s, which %s names, cannot be read; upload it, and let the function's role read it: %w", path, Variable, err)
	}
	if read.texts == nil {
		read.texts = map[string][]byte{}
	}
	read.texts[path] = text
	return text, path, nil
}

func get(ctx context.Context, address string) ([]byte, error) {
	place, is := strings.CutPrefix(address, "s3://")
	name, key, has := strings.Cut(place, "/")
	if !is || !has || name == "" {
		return nil, fmt.Errorf("%q must be like s3://BUCKET/PREFIX/", address)
	}
	bucket, err := awscall.NewBucket(name, awscall.Options{Timeout: readTime / 2})
	if err != nil {
		return nil, err
	}
	return bucket.Get(ctx, key, maxText)
}

// Changed reads the files again that were read from a bucket, and reports whether one is another
// now. A file that cannot be read stays as it was, and is in the error. It takes two seconds at
// most, and a quarter of the invocation's time.
func Changed(ctx context.Context) (changed bool, err error) {
	limit := lookTime
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline)/4)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	read.Lock()
	defer read.Unlock()
	for path, text := range read.texts {
		now, failed := get(ctx, path)
		if failed == nil && !bytes.Equal(now, text) {
			read.texts[path], changed = now, true
		}
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", path, failed))
		}
	}
	return changed, err
}
