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
	if c.style == "iso" || c.style == "unix" {
		began := time.Now().Add(-time.Duration(seconds * float64(time.Second)))
		return "since " + c.at(began)
	}
	return "for " + age(seconds)
}

func (c clock) relative() bool { return c.style == "relative" || c.style == "auto" && c.table }

// at is a time; empty for the zero time, as those of the other methods are.
func (c clock) at(t time.Time) string {
	switch {
	case t.IsZero():
		return ""
	case c.relative() && time.Until(t) > 0:
		return "in " + age(time.Until(t).Seconds())
	case c.relative():
		return age(time.Since(t).Seconds()) + " ago"
	case c.style == "iso":
		return t.UTC().Format(time.RFC3339)
	case c.style == "unix":
		return strconv.FormatInt(t.Unix(), 10)
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// when is at, to stand behind a verb: a time that is not relative is "at" it.
func (c clock) when(t time.Time) string {
	if c.relative() || t.IsZero() {
		return c.at(t)
	}
	return "at " + c.at(t)
}

// due is when of something that happens then: it is due now where the time has passed.
func (c clock) due(t time.Time) string {
	if c.relative() && time.Until(t) <= 0 {
		return "now"
	}
	return c.when(t)
}

func (c clock) end(t time.Time) string {
	if time.Until(t) <= 0 {
		return "ended " + c.when(t)
	}
	return "ends " + c.when(t)
}

func (c clock) since(t time.Time) string {
	switch {
	case t.IsZero():
		return ""
	case c.relative():
		return "for " + age(max(time.Since(t), 0).Seconds())
	}
	return "since " + c.at(t)
}
