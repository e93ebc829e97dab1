package localstack

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lockData makes the folder of the data, where one is wanted, and takes it: two servers on the same
// files destroy them. The lock goes with the process.
func lockData(config *Config) (*os.File, error) {
	if config.Data == "" {
		return nil, nil
	}
	var err error
	if config.Data, err = filepath.Abs(config.Data); err != nil {
		return nil, err
	}
	lock, err := lockFolder(config.Data, syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("the data folder %s is in use by another local stack: end that one, or name another folder",
			config.Data)
	}
	if err != nil {
		err = fmt.Errorf("the data folder must be one that can be created: %w", err)
	}
	return lock, err
}

// lockFolder makes a folder and takes it, until the file is closed.
func lockFolder(folder string, how int) (*os.File, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(folder, ".lock"), os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), how); err != nil {
		_ = lock.Close()
		return nil, err
	}
	return lock, nil
}
