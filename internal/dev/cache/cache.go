// Package cache keeps what is fetched or made once: [Folder] says where, outside of the project,
// and [Make] makes it. A crash leaves nothing behind that a later call would take for whole.
package cache

import (
	"os"
	"path/filepath"
)

// Folder is a folder of this project's in the user's cache folder. It makes none.
func Folder(name string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "streamsort", name), nil
}

// Make has fill make a folder, where whole, which is the folder or a file in it, is not there. It
// is made under another name and moved when it is whole, so that neither a crash nor another
// process in the middle of it leaves half of one. Where another one was quicker, its folder stays.
func Make(folder, whole string, fill func(half string) error) error {
	if _, err := os.Stat(whole); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return err
	}
	half, err := os.MkdirTemp(filepath.Dir(folder), filepath.Base(folder)+"-new-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(half) }()
	if err := fill(half); err != nil {
		return err
	}
	if err := os.Rename(half, folder); err != nil {
		if _, missing := os.Stat(whole); missing != nil {
			return err
		}
	}
	return nil
}
