package quota

import "time"

// WindowAt makes the windows of tests.
func WindowAt(t time.Time, length time.Duration) Window {
	return Window{t.Truncate(length), length}
}
