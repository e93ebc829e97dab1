package mortal

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/streamsort/streamsort/internal/dev/child"
)

// Plan says which copies of a program run, and how many of them die.
type Plan struct {
	// Arguments are those of each copy.
	Arguments []string
	// Copies is how many run at a time.
	Copies int
	// Kills is how many deaths there are. Where several copies run, some more may come: those that
	// ran at the last one may die as well.
	Kills int
	// OneStepIn is how many steps of the protocol a copy survives on average, while there are kills
	// left.
	OneStepIn int
}

// Keeper keeps copies of this program going.
type Keeper struct {
	plan    Plan
	starter *child.Starter
	killed  atomic.Int64
	stop    func()
}

// Keep starts copies of this program, and another where one died, until the context ends or
// [Keeper.Close]. It tells on standard error who died.
func Keep(ctx context.Context, plan Plan) *Keeper {
	ctx, cancel := context.WithCancel(ctx)
	k := &Keeper{plan: plan, starter: child.NewStarter()}
	var kept sync.WaitGroup
	for range plan.Copies {
		kept.Go(func() { k.keep(ctx) })
	}
	k.stop = sync.OnceFunc(func() {
		cancel()
		kept.Wait()
		k.starter.Close()
	})
	return k
}

// Killed is how many copies have died so far. Those that Close kills do not count.
func (k *Keeper) Killed() int { return int(k.killed.Load()) }

// Close kills all copies. After the first time it does nothing.
func (k *Keeper) Close() { k.stop() }

// keep starts a copy, and another where it died.
func (k *Keeper) keep(ctx context.Context) {
	for ctx.Err() == nil {
		one := 0
		if k.Killed() < k.plan.Kills {
			one = k.plan.OneStepIn
		}
		copied, err := k.start(one)
		if err != nil {
			fmt.Fprintln(os.Stderr, "    a copy cannot start:", err)
			return
		}
		stopped := context.AfterFunc(ctx, func() { child.Signal(copied, syscall.SIGKILL) })
		_ = copied.Wait() // it is killed, by itself or by us
		if stopped() && one > 0 {
			k.killed.Add(1)
			fmt.Fprintln(os.Stderr, "    a copy was killed")
		}
	}
}

// start starts a copy that survives so many steps on average.
func (k *Keeper) start(one int) (*exec.Cmd, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	copied := exec.Command(program, k.plan.Arguments...)
	copied.Stderr = os.Stderr
	copied.Env = append(os.Environ(), variable+"="+strconv.Itoa(one))
	return copied, k.starter.Start(copied)
}
