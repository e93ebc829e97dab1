package main

import (
	"fmt"
	"strconv"
	"time"
)

// clock shows times, by the flag --time. Where that is not given, text has times and ages as the
// API gives them, and a table has both relative to now.
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

// at is a time of the API's; any other text stays as it is.
func (c clock) at(written string) string {
	t, relative := c.relative(written)
	switch {
	case t.IsZero():
		return written
	case relative && time.Until(t) > 0:
		return "in " + age(time.Until(t).Seconds())
	case relative:
		return age(time.Since(t).Seconds()) + " ago"
	case c.style == "iso":
		return t.UTC().Format(time.RFC3339)
	case c.style == "unix":
		return strconv.FormatInt(t.Unix(), 10)
	}
	return written
}

// relative is a time of the API's, zero if it is not one, and whether it is shown relative to now.
func (c clock) relative(written string) (t time.Time, relative bool) {
	t, err := time.Parse(time.RFC3339, written)
	return t, err == nil && (c.style == "relative" || c.style == "auto" && c.table)
}

// when is at, to stand behind a verb: a time that is not relative is "at" it.
func (c clock) when(written string) string {
	if _, relative := c.relative(written); relative {
		return c.at(written)
	}
	return "at " + c.at(written)
}

// due is when of something that happens then: it is due now where the time has passed.
func (c clock) due(written string) string {
	if t, relative := c.relative(written); relative && time.Until(t) <= 0 {
		return "now"
	}
	return c.when(written)
}

// end is when something ends, or ended.
func (c clock) end(written string) string {
	if t, _ := c.relative(written); !t.IsZero() && time.Until(t) <= 0 {
		return "ended " + c.when(written)
	}
	return "ends " + c.when(written)
}

// since is for how long, or since when, something is.
func (c clock) since(written string) string {
	if t, relative := c.relative(written); relative {
		return "for " + age(max(time.Since(t), 0).Seconds())
	}
	return "since " + c.at(written)
}

// written is a time as the API writes it; empty for the zero time.
func written(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
