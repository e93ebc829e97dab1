package main

import (
	"fmt"
	"strconv"
	"time"
)

// clock shows times, by the flag --time. Where that is not given, text has times and ages as
// the API gives them, and a table has both relative to now.
type clock struct {
	style string // auto, relative, iso or unix
	table bool
}

// age is a time in the two greatest of its units, or a part of a second.
func age(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	days := int(d / (24 * time.Hour))
	switch {
	case days > 0:
		return fmt.Sprintf("%dd%dh", days, int(d/time.Hour)%24)
	case d >= time.Hour:
		return fmt.Sprintf("%dh%dm", int(d/time.Hour), int(d/time.Minute)%60)
	case d >= time.Minute:
		return fmt.Sprintf("%dm%ds", int(d/time.Minute), int(d/time.Second)%60)
	}
	return fmt.Sprintf("%.0fs", seconds)
}

// lasting is for how long, or since when, something is, of its age.
func (c clock) lasting(seconds float64) string {
	began := time.Now().Add(-time.Duration(seconds * float64(time.Second)))
	switch c.style {
	case "iso":
		return "since " + began.UTC().Format(time.RFC3339)
	case "unix":
		return "since " + strconv.FormatInt(began.Unix(), 10)
	}
	return "for " + age(seconds)
}

// at is a time of the API's; what is none stays as it is.
func (c clock) at(written string) string {
	t, err := time.Parse(time.RFC3339, written)
	if err != nil || c.style == "auto" && !c.table || c.style == "" {
		return written
	}
	switch c.style {
	case "iso":
		return t.UTC().Format(time.RFC3339)
	case "unix":
		return strconv.FormatInt(t.Unix(), 10)
	}
	if ahead := time.Until(t); ahead > 0 {
		return age(ahead.Seconds()) + " from now"
	}
	return age(time.Since(t).Seconds()) + " ago"
}
