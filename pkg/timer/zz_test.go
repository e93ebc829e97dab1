package timer_test

import (
	"os/exec"
	"testing"
	"time"

	"github.com/streamsort/streamsort/internal/dev/localdb"
	"github.com/streamsort/streamsort/localstack"
)

func TestZZ(t *testing.T) {
	time.Sleep(1)
	_ = exec.Command("x")
	_ = localdb.Choose()
	var s *localstack.Stack
	_ = s
}
