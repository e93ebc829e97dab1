package schedule

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// cron is the six fields of a cron expression: minutes hours day-of-month
// month day-of-week year. Exactly one of the two day fields is "?".
type cron struct {
	minutes, hours, months, years set
	days                          dayRule
}

// set is the values that a field lets through.
type set map[int]bool

// dayRule is the day field that is not "?".
type dayRule struct {
	monthDays set  // days of the month, or
	weekDays  set  // days of the week, 1 (Sunday) to 7
	last      bool // L: the last day of the month, or the last of its weekDays
	weekday   int  // nW: the working day nearest to the n-th; -1 for LW
	nth       int  // d#n: the n-th of its weekDays in the month
}

var (
	monthNames = []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}
	dayNames   = []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"}
)

func parseCron(text string) (*cron, error) {
	fields := strings.Fields(text)
	if len(fields) != 6 {
		return nil, fmt.Errorf("a cron must have 6 fields, not %d", len(fields))
	}
	var c cron
	var err error
	for _, f := range []struct {
		into      *set
		text      string
		name      string
		low, high int
		names     []string
	}{
		{&c.minutes, fields[0], "minutes", 0, 59, nil},
		{&c.hours, fields[1], "hours", 0, 23, nil},
		{&c.months, fields[3], "month", 1, 12, monthNames},
		{&c.years, fields[5], "year", 1970, 2199, nil},
	} {
		if *f.into, err = parseField(f.text, f.low, f.high, f.names); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	c.days, err = parseDays(fields[2], fields[4])
	return &c, err
}

func parseDays(month, week string) (dayRule, error) {
	if (month == "?") == (week == "?") {
		return dayRule{}, errors.New("one of day-of-month and day-of-week must be ?, and only one")
	}
	var d dayRule
	var err error
	if week == "?" {
		switch {
		case month == "L":
			d.last = true
		case month == "LW":
			d.weekday = -1
		case strings.HasSuffix(month, "W"):
			d.weekday, err = number(strings.TrimSuffix(month, "W"), 1, 31, nil)
		default:
			d.monthDays, err = parseField(month, 1, 31, nil)
		}
		return d, wrap("day-of-month", err)
	}
	if day, nth, ok := strings.Cut(week, "#"); ok {
		if d.nth, err = number(nth, 1, 5, nil); err != nil {
			return d, wrap("day-of-week", err)
		}
		week = day
	} else if day, ok := strings.CutSuffix(week, "L"); ok {
		d.last, week = true, day
		if week == "" {
			week, d.last = "7", false // L alone is Saturday
		}
	}
	d.weekDays, err = parseField(week, 1, 7, dayNames)
	return d, wrap("day-of-week", err)
}

func wrap(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

// parseField reads "*", values, ranges a-b, steps a/n, a-b/n and */n, and
// lists of these.
func parseField(text string, low, high int, names []string) (set, error) {
	out := set{}
	for part := range strings.SplitSeq(text, ",") {
		span, stepText, stepped := strings.Cut(part, "/")
		step := 1
		if stepped {
			var err error
			if step, err = number(stepText, 1, high, nil); err != nil {
				return nil, err
			}
		}
		from, to := low, high
		if span != "*" {
			first, second, ranged := strings.Cut(span, "-")
			var err error
			if from, err = number(first, low, high, names); err != nil {
				return nil, err
			}
			switch {
			case ranged:
				if to, err = number(second, low, high, names); err != nil {
					return nil, err
				}
			case !stepped:
				to = from
			}
		}
		if from > to {
			return nil, fmt.Errorf("%q runs backwards", part)
		}
		for value := from; value <= to; value += step {
			out[value] = true
		}
	}
	return out, nil
}

// number reads a value of a field, by its number or its name; names count
// from the field's lowest value.
func number(text string, low, high int, names []string) (int, error) {
	for i, name := range names {
		if strings.EqualFold(text, name) {
			return low + i, nil
		}
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("%q is not a value from %d to %d", text, low, high)
	}
	return n, nil
}

// next is the first minute after a time that all fields let through. An hour
// that a change of clocks skips is left out, one that it repeats counts once.
func (c *cron) next(after time.Time) (time.Time, bool) {
	year, month, day := after.Date()
	for ; year <= 2199; year, month, day = year+1, time.January, 1 {
		if !c.years[year] {
			continue
		}
		for ; month <= time.December; month, day = month+1, 1 {
			if !c.months[int(month)] {
				continue
			}
			for ; day <= daysIn(year, month); day++ {
				if !c.days.match(year, month, day) {
					continue
				}
				if next, ok := c.inDay(year, month, day, after); ok {
					return next, true
				}
			}
		}
	}
	return time.Time{}, false
}

// inDay is the first moment of a day that is after a time.
func (c *cron) inDay(year int, month time.Month, day int, after time.Time) (time.Time, bool) {
	for hour := range 24 {
		if !c.hours[hour] {
			continue
		}
		for minute := range 60 {
			if !c.minutes[minute] {
				continue
			}
			t := time.Date(year, month, day, hour, minute, 0, 0, after.Location())
			if t.Hour() == hour && t.After(after) {
				return t, true
			}
		}
	}
	return time.Time{}, false
}

func daysIn(year int, month time.Month) int {
	return time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

func (d dayRule) match(year int, month time.Month, day int) bool {
	length := daysIn(year, month)
	weekday := func(day int) int { return int(time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Weekday()) + 1 }
	switch {
	case d.weekDays != nil:
		return d.weekDays[weekday(day)] &&
			(!d.last || day+7 > length) &&
			(d.nth == 0 || (day-1)/7+1 == d.nth)
	case d.last:
		return day == length
	case d.weekday == -1:
		return day == nearestWorkday(length, length, weekday)
	case d.weekday > 0:
		return d.weekday <= length && day == nearestWorkday(d.weekday, length, weekday)
	}
	return d.monthDays[day]
}

// nearestWorkday is the day from Monday to Friday nearest to a day, within its
// month.
func nearestWorkday(day, length int, weekday func(int) int) int {
	switch weekday(day) {
	case 7: // Saturday
		if day == 1 {
			return 3
		}
		return day - 1
	case 1: // Sunday
		if day == length {
			return day - 2
		}
		return day + 1
	}
	return day
}
