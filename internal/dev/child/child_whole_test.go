//go:build whole

package child

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/streamsort/streamsort/internal/dev/await"
	"github.com/streamsort/streamsort/internal/dev/check"
)

// TestMain is also the parent that TestParentKilled kills.
func TestMain(m *testing.M) {
	if os.Getenv("CHILD_TEST_PARENT") == "" {
		os.Exit(m.Run())
	}
	command := exec.Command("sleep", "1000")
	if err := NewStarter().Start(command); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(command.Process.Pid)
	select {} // until it is killed
}

// TestParentKilled kills a process that has started a child: the child dies too.
func TestParentKilled(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux kills a child with its parent") //nolint:forbidigo // as package child says
	}
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), "CHILD_TEST_PARENT=1")
	out := check.Get(parent.StdoutPipe())
	check.OK(t, parent.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	check.OK(t, err)
	var pid int
	_, err = fmt.Sscan(line, &pid)
	check.Need(t, err == nil, "%q: %v", line, err)
	err = syscall.Kill(pid, 0)
	check.Need(t, err == nil, "the child does not run: %v", err)
	check.OK(t, parent.Process.Kill())
	_ = parent.Wait()
	t.Cleanup(func() {
		if t.Failed() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	await.True(t, "the end of the child", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
}

// TestServe: a server that ends before it answers, as where its port is taken, is started again.
// One that always ends is given up, with what it said.
func TestServe(t *testing.T) {
	started := 0
	script := "echo trial $0; test $0 = 2 && exec sleep 1000"
	command := func(int) (*exec.Cmd, error) {
		started++
		return exec.Command("sh", "-c", script, fmt.Sprint(started)), nil
	}
	secondAnswers := func(context.Context) error {
		if started < 2 {
			return errors.New("no answer")
		}
		return nil
	}
	s := check.Get(Serve(t.Context(), command, secondAnswers))
	_, ended := s.Ended()
	check.That(t, !ended && started == 2, "ended %t after %d starts", ended, started)
	s.Close()
	how, ended := s.Ended()
	check.That(t, ended && strings.Contains(how, "killed"), "%t, %s", ended, how)
	started, script = 0, "echo trial $0"
	_, err := Serve(t.Context(), command, func(context.Context) error {
		return errors.New("no answer")
	})
	check.Need(t, err != nil && started == 3, "%v after %d starts", err, started)
	check.That(t, strings.Contains(err.Error(), "trial 3"), "%v", err)
}
