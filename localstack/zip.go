package localstack

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/streamsort/streamsort/internal/dev/cache"
)

// unzip unpacks a zip of code into the user's cache and returns the folder, which is named by what
// is in it: what is there is whole.
func unzip(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	sum := sha256.New()
	size, err := io.Copy(sum, file)
	if err != nil {
		return "", err
	}
	folder, err := cache.Folder(filepath.Join("zips", hex.EncodeToString(sum.Sum(nil))))
	if err != nil {
		return "", err
	}
	return folder, cache.Make(folder, folder, func(half string) error {
		reader, err := zip.NewReader(file, size)
		if err == nil {
			err = extract(reader, half)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return nil
	})
}

// extract writes the files of a zip into a folder, and none outside of it.
func extract(from *zip.Reader, folder string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for _, entry := range from.File {
		if entry.FileInfo().IsDir() {
			continue
		}
		if err := root.MkdirAll(filepath.Dir(filepath.FromSlash(entry.Name)), 0o755); err != nil {
			return err
		}
		if err := extractOne(entry, root); err != nil {
			return err
		}
	}
	return nil
}

func extractOne(entry *zip.File, root *os.Root) error {
	in, err := entry.Open()
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := root.OpenFile(filepath.FromSlash(entry.Name), os.O_CREATE|os.O_WRONLY|os.O_EXCL,
		entry.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
