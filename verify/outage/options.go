package main

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// options say how large the outage is.
type options struct {
	// queues is how many have something to deliver, 10 to 100,000.
	queues int
	// minutes is how long the sink is away at least, by the schedule that is not shortened; 1 to
	// 1,440. It is longer where the messages take longer to send.
	minutes int
}

// fromEnvironment reads QUEUES and MINUTES. The error names what is wrong.
func fromEnvironment(get func(string) string) (options, error) {
	o := options{queues: 10_000, minutes: 65}
	var errs []error
	read := func(name string, to *int, low, high int) {
		text := get(name)
		if text == "" {
			return
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < low || n > high {
			errs = append(errs, fmt.Errorf("%s=%s must be a number from %d to %d", name, text, low, high))
		}
		*to = n
	}
	read("QUEUES", &o.queues, 10, 100_000)
	read("MINUTES", &o.minutes, 1, 1440)
	return o, errors.Join(errs...)
}

// away is how long the sink is away, by the shortened schedule.
func (o options) away() time.Duration { return time.Duration(o.minutes) * time.Minute / factor }
