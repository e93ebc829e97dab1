package localstack

import (
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
	if err := os.MkdirAll(config.Data, 0o755); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(config.Data, ".lock"), os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("%s is in use by another local stack", config.Data)
	}
	return lock, nil
}
