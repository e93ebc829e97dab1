package dedup

import "time"

// firstDelay is how long a call that waits for another one waits before its first look, where
// Options.Wait is given. Each delay is twice the one before.
const firstDelay = 100 * time.Millisecond

// delay is how long to wait before the nth look at a row that is running, from 0. It is shorter by
// up to a quarter, at random, so that those who began together do not look together. Where
// Options.Wait is not given, the first look comes when such effects usually end, by the rows that
// this process has seen, and at most 2 seconds later: so most callers need one look.
func (d *Deduplicator[ID, R]) delay(n int, r Row) time.Duration {
	random := d.options.Random()
	delay := time.Duration(float64(firstDelay<<n) * (1 - random/4))
	if n == 0 && d.options.Wait == 0 {
		delay = max(delay, d.pace.left(r, d.options.Now(), random))
	}
	return delay
}

// longestWait is how long a call may wait for another one: less than 0 for not at all.
func (o *Options[ID, R]) longestWait() time.Duration {
	switch {
	case o.Wait != 0:
		return o.Wait
	case o.Lease != 0:
		return min(o.Lease, defaultWait)
	}
	return defaultWait
}
