//go:build !linux

package lambda

import "syscall"

// processAttributes put a process into a group of its own.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
