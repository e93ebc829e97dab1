package lambda

import "syscall"

// processAttributes put a process into a group of its own, and have the kernel
// kill it when the thread that started it is gone.
func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
