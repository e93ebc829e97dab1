package sortkey

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/streamsort/streamsort/pkg/invalid"
)

// Received is a part of a key that is the time at which the message came, where its sender gives
// none. A repeat comes at another time and is the same message: the first time under the queue and
// the id counts, for as long as the message is retained.
type Received time.Time

// The years 0000 to 9999 in Unix seconds: no others have a text in RFC 3339.
const (
	minSeconds = -62_167_219_200
	maxSeconds = 253_402_300_799
)

// maxFraction is the most digits of a second's fraction.
const maxFraction = 9

// unixText is a text of Unix seconds, or milliseconds: with fewer digits it would be a date.
var unixText = regexp.MustCompile(`^[1-9][0-9]{8,12}(\.[0-9]+)?$`)

// milliDigits is how many digits Unix milliseconds have, from 2001 to 2286: no seconds have as
// many.
const milliDigits = 13

// secondsBy is the time that a value is, in Unix seconds with their fraction; parse reads a text.
func secondsBy(parse func(string) (time.Time, error)) func(value any) (decimal, error) {
	return func(value any) (decimal, error) { return secondsOf(value, parse) }
}

func secondsOf(value any, parse func(string) (time.Time, error)) (decimal, error) {
	switch v := value.(type) {
	case time.Time:
		return secondsOfTime(v)
	case Received:
		return secondsOfTime(time.Time(v))
	case string:
		if unixText.MatchString(v) {
			break
		}
		t, err := parse(v)
		if err != nil {
			return decimal{}, err
		}
		return secondsOfTime(t)
	}
	d, err := decimalOf(value)
	if err != nil {
		return decimal{}, err
	}
	if d.exponent == milliDigits && !d.negative {
		d.exponent -= len("000")
	}
	return d, checkSeconds(d)
}

func secondsOfTime(t time.Time) (decimal, error) {
	sign, seconds, nanos := "", t.Unix(), t.Nanosecond()
	if seconds < minSeconds || seconds > maxSeconds {
		return decimal{}, errYears()
	}
	// The fraction counts upward from the second before, in a time before 1970 too.
	if seconds < 0 && nanos > 0 {
		seconds, nanos = seconds+1, 1_000_000_000-nanos
	}
	if t.Unix() < 0 {
		sign, seconds = "-", -seconds
	}
	return parseDecimal(fmt.Sprintf("%s%d.%09d", sign, seconds, nanos))
}

func errYears() error {
	return invalid.New(invalid.OutOfRange, "", "is out of its bounds: a time is in the years 0000 to 9999, and a number is its Unix seconds, or its milliseconds in 13 digits")
}

func checkFraction(digits string) error {
	if len(digits) > maxFraction {
		return invalid.New(invalid.OutOfRange, "",
			fmt.Sprintf("has %d digits of a second's fraction: at most %d are taken",
				len(digits), maxFraction))
	}
	return nil
}

func checkSeconds(d decimal) error {
	whole, fraction := d.split()
	switch {
	case d.exponent > len(strconv.Itoa(maxSeconds)):
		return errYears()
	case checkFraction(fraction) != nil:
		return checkFraction(fraction)
	}
	seconds, err := strconv.ParseInt(whole, 10, 64)
	if d.negative {
		seconds = -seconds
		if fraction != "" {
			seconds--
		}
	}
	if err != nil || seconds < minSeconds || seconds > maxSeconds {
		return errYears()
	}
	return nil
}

// timeOf is the time of Unix seconds that checkSeconds takes.
func timeOf(d decimal) time.Time {
	whole, fraction := d.split()
	seconds, _ := strconv.ParseInt(whole, 10, 64)
	nanos, _ := strconv.ParseInt((fraction + "000000000")[:maxFraction], 10, 64)
	if d.negative {
		seconds, nanos = -seconds, -nanos
	}
	return time.Unix(seconds, nanos).UTC()
}

// Times as databases write them, and offsets without a colon.
var (
	written  = regexp.MustCompile(`^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d(?:\.\d+)?) ?(?:UTC|([+-]\d\d)(?::?(\d\d))?)?$`)
	plainOff = regexp.MustCompile(`^(.+:\d\d(?:\.\d+)?[+-]\d\d)(\d\d)$`)
)

// parseUTC is parseTime, which takes a time without a zone as one in UTC, and those that databases
// write: "2026-01-02 15:04:05 UTC", "2026-01-02 15:04:05.999+00".
func parseUTC(text string) (time.Time, error) {
	if parts := written.FindStringSubmatch(text); parts != nil {
		zone := "Z"
		if parts[3] != "" {
			zone = parts[3] + ":" + cmp.Or(parts[4], "00")
		}
		text = parts[1] + "T" + parts[2] + zone
	}
	return parseTime(text)
}

// parseTime reads a time as RFC 3339 writes it, with at most 9 digits of a fraction, or with an
// offset that has no colon. A leap second is the last nanosecond before it: so it sorts behind what
// was before it, and before what comes after.
func parseTime(text string) (time.Time, error) {
	// RFC 3339 takes t and z as T and Z.
	upper := plainOff.ReplaceAllString(strings.ToUpper(text), "$1:$2")
	if leap, is := leapSecond(upper); is {
		return leap, checkTime(upper)
	}
	t, err := time.Parse(time.RFC3339, upper)
	if err == nil {
		return t, checkTime(upper)
	}
	if _, err := time.Parse("2006-01-02T15:04:05", upper); err == nil {
		return t, malformedKey("has no time zone: a time ends in Z or an offset such as +02:00")
	}
	wrong, ok := errors.AsType[*time.ParseError](err)
	if ok && strings.HasSuffix(wrong.Message, "out of range") {
		return t, doesNotExist(strings.TrimPrefix(wrong.Message, ": "))
	}
	return t, notRFC3339()
}

// leapSecond is the last nanosecond before a leap second: those are at the end of a month in UTC.
func leapSecond(upper string) (time.Time, bool) {
	const seconds = len("2006-01-02T15:04")
	rest, isLeap := strings.CutPrefix(upper[min(seconds, len(upper)):], ":60")
	if !isLeap {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339, upper[:seconds]+":59"+rest)
	next := t.UTC().Truncate(time.Second).Add(time.Second)
	return next.Add(-1), err == nil && next.Day() == 1 && next.Hour() == 0 && next.Minute() == 0
}

// checkTime reports what package time reads and RFC 3339 does not have: an hour of one digit, a
// comma before the fraction, an offset of a day or more; and a fraction that it would cut.
func checkTime(text string) error {
	const (
		minutes = len("2006-01-02T15")
		seconds = len("2006-01-02T15:04:05")
	)
	if text[minutes] != ':' || text[seconds] == ',' {
		return notRFC3339()
	}
	if offset := text[len(text)-len("07:00"):]; !strings.HasSuffix(text, "Z") &&
		(offset[:2] > "23" || offset[3:] > "59") {
		return doesNotExist("offset of its zone out of range")
	}
	fraction := strings.TrimPrefix(text[seconds:], ".")
	return checkFraction(fraction[:len(fraction)-len(strings.TrimLeft(fraction, "0123456789"))])
}

func doesNotExist(why string) error {
	if strings.HasPrefix(why, "second") {
		why += ", a second is from 00 to 59, and 60 where a month ends in UTC"
	}
	return invalid.New(invalid.OutOfRange, "", "is a time that does not exist: "+why)
}

func notRFC3339() error {
	return malformedKey("must be a time as RFC 3339 writes it, such as 2026-01-02T15:04:05.999Z, or Unix seconds")
}
