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

// readTime bounds the reading of one file.
const readTime = 5 * time.Second

// read are the texts of the files that came from a bucket, by their addresses.
var read struct {
	sync.Mutex
	texts map[string][]byte
}

// Text is a file's, from the bucket of [Variable], or from a folder. path says where it is.
func Text(folder, name string) (text []byte, path string, err error) {
	prefix := os.Getenv(Variable)
	if prefix == "" {
		path = filepath.Join(folder, name)
		text, err = os.ReadFile(path)
		return text, path, err
	}
	path = prefix + name
	ctx, cancel := context.WithTimeout(context.Background(), readTime)
	defer cancel()
	if text, err = get(ctx, path); err != nil {
		return nil, path, fmt.Errorf("%s, which %s names, cannot be read; upload it, and let the function's role read it: %w", path, Variable, err)
	}
	read.Lock()
	defer read.Unlock()
	if read.texts == nil {
		read.texts = map[string][]byte{}
	}
	read.texts[path] = text
	return text, path, nil
}

// get reads an object.
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
	return bucket.Get(ctx, key)
}

// Changed reports whether a file that was read from a bucket is another one now. For those that cannot
// be read now it says nothing but the error.
func Changed(ctx context.Context) (changed bool, err error) {
	read.Lock()
	defer read.Unlock()
	for path, text := range read.texts {
		now, failed := get(ctx, path)
		if failed == nil && !bytes.Equal(now, text) {
			read.texts[path], changed = now, true
		}
		err = errors.Join(err, failed)
	}
	return changed, err
}
