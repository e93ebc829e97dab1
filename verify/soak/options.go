package main

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// options say how the soak runs.
type options struct {
	// time is how long messages are produced, 10 seconds to 24 hours.
	time time.Duration
	// rate is how many messages a second, 1 to 10,000.
	rate int
	// seed chooses messages and faults. What meets what depends on the machine
	// all the same.
	seed uint64
}

// fromEnvironment reads TIME, RATE and SEED. The error names what is wrong.
func fromEnvironment(get func(string) string) (options, error) {
	o := options{time: 10 * time.Minute, rate: 40, seed: 1}
	var errs []error
	read := func(name string, parse func(string) bool, want string) {
		if text := get(name); text != "" && !parse(text) {
			errs = append(errs, fmt.Errorf("%s=%s must be %s", name, text, want))
		}
	}
	read("TIME", func(text string) bool {
		d, err := time.ParseDuration(text)
		o.time = d
		return err == nil && d >= 10*time.Second && d <= 24*time.Hour
	}, "a duration from 10s to 24h")
	read("RATE", func(text string) bool {
		n, err := strconv.Atoi(text)
		o.rate = n
		return err == nil && n >= 1 && n <= 10_000
	}, "a number from 1 to 10000")
	read("SEED", func(text string) bool {
		n, err := strconv.ParseUint(text, 10, 64)
		o.seed = n
		return err == nil
	}, "a number from 0 on")
	return o, errors.Join(errs...)
}
