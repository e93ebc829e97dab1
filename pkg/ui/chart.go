package ui

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// chart is figures over time, drawn as lines, and the same as a table.
type chart struct {
	Title string
	Note  string // what there is in place of lines
	Top   string // the greatest figure
	From  time.Time
	Lines []line
	Rows  []figures // the latest first
}

// line is one of a chart's, in a box of 300 by 80.
type line struct {
	Name, Kind, Points, Last string
}

type figures struct {
	At     time.Time
	Values []string
}

type series struct {
	name, kind string
	values     []float64
}

// mostRows is how long the table of a chart is.
const mostRows = 30

// drawChart draws series, which have a figure for each of the times.
func drawChart(title string, times []time.Time, all ...series) chart {
	c := chart{Title: title}
	if len(times) < 2 {
		c.Note = "It is drawn from the second look on."
		return c
	}
	c.From = times[0]
	top := 1.0
	for _, s := range all {
		top = max(top, slices.Max(s.values))
	}
	c.Top = figure(top)
	began, took := times[0], times[len(times)-1].Sub(times[0]).Seconds()
	for _, s := range all {
		var points strings.Builder
		for i, v := range s.values {
			fmt.Fprintf(&points, "%.1f,%.1f ", times[i].Sub(began).Seconds()/took*300, 78-76*v/top)
		}
		c.Lines = append(c.Lines, line{s.name, s.kind, strings.TrimSpace(points.String()),
			figure(s.values[len(s.values)-1])})
	}
	for i := len(times) - 1; i >= 0 && len(c.Rows) < mostRows; i-- {
		r := figures{At: times[i]}
		for _, s := range all {
			r.Values = append(r.Values, figure(s.values[i]))
		}
		c.Rows = append(c.Rows, r)
	}
	return c
}

func level(title, name string, samples []sample) chart {
	times, went := timesOf(samples), series{name: name, kind: "second"}
	for _, t := range times {
		went.values = append(went.values, math.Round(at(samples, t)))
	}
	return drawChart(title, times, went)
}

func figure(v float64) string {
	if v == math.Trunc(v) || v >= 100 {
		return strconv.FormatFloat(math.Round(v), 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'f', 1, 64)
}

// at is what a figure was at a time, between two samples on the line from one to the other.
func at(samples []sample, t time.Time) float64 {
	for i, s := range samples {
		if s.at.Before(t) && i < len(samples)-1 {
			continue
		}
		if i == 0 || !t.Before(s.at) {
			return float64(s.value)
		}
		before := samples[i-1]
		part := t.Sub(before.at).Seconds() / s.at.Sub(before.at).Seconds()
		return float64(before.value) + part*float64(s.value-before.value)
	}
	return 0
}

// The times of a chart of samples.
const (
	mostTimes = 30
	leastStep = 2 * time.Second
)

// timesOf are times evenly from the first of the samples to the last.
func timesOf(samples []sample) (times []time.Time) {
	first, last := samples[0].at, samples[len(samples)-1].at
	n := min(int(last.Sub(first)/leastStep), mostTimes)
	for i := range n + 1 {
		times = append(times, first.Add(last.Sub(first)*time.Duration(i)/time.Duration(max(n, 1))))
	}
	return times
}

// perMinute is by how much a figure grew a minute, up to each of the times but the first, which is
// as the second.
func perMinute(samples []sample, times []time.Time) []float64 {
	values := make([]float64, len(times))
	for i := 1; i < len(times); i++ {
		step := times[i].Sub(times[i-1]).Minutes()
		values[i] = max(at(samples, times[i])-at(samples, times[i-1]), 0) / step
	}
	if len(values) > 1 {
		values[0] = values[1]
	}
	return values
}
