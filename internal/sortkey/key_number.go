package sortkey

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/streamsort/streamsort/pkg/invalid"
)

// Bounds of a number in a key, which are about those of DynamoDB's numbers: it is 0, or from 1e-126
// to under 1e126 in size.
const (
	MaxKeyDigits   = 38
	maxKeyExponent = 126
	// maxKeyNumber bounds a number's spelling: zeros at its ends are no digits of it.
	maxKeyNumber = 400
)

// decimal is the number 0.digits × 10^exponent. The digits neither begin nor end with a 0; there
// are none in 0.
//
// It is stored as SQLite 4 stores numbers in keys ("The SQLite4 key encoding",
// https://sqlite.org/src4/doc/trunk/www/key_encoding.wiki), all exponents alike: one byte for the
// exponent E of 0.M × 100^E, then M by its digits to the base of 100. A digit X is the byte 2X+1,
// the last one, which is not 0, the byte 2X. Both are complemented in a negative number; 0 is the
// byte 0x80.
type decimal struct {
	negative bool
	digits   string
	exponent int
}

const (
	// zeroHead is the first byte of 0; that of E is E+headOffset, or the complement.
	zeroHead   = 0x80
	headOffset = zeroHead + maxKeyExponent/2
)

// numberForm is a number as JSON writes it: its sign, what is before and behind its point, and its
// power of ten.
var numberForm = regexp.MustCompile(`^(-)?(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$`)

// parseDecimal reads a number as JSON writes it.
func parseDecimal(text string) (decimal, error) {
	if len(text) > maxKeyNumber {
		return decimal{}, &invalid.Error{
			Code: invalid.TooLarge,
			Problem: fmt.Sprintf("has %d characters: a number in a key has at most %d", len(text),
				maxKeyNumber), Size: len(text), Most: maxKeyNumber,
		}
	}
	m := numberForm.FindStringSubmatch(text)
	if m == nil {
		return decimal{}, malformedKey("must be a number, such as 17, -2.5 or 1e9")
	}
	return normal(m[1] != "", m[2], m[3], m[4])
}

// normal is whole.fraction × 10^power.
func normal(negative bool, whole, fraction, power string) (decimal, error) {
	digits := strings.TrimLeft(whole+fraction, "0")
	zeros := len(whole) + len(fraction) - len(digits)
	if digits = strings.TrimRight(digits, "0"); digits == "" {
		return decimal{}, nil
	}
	shift := 0
	if power != "" {
		var err error
		if shift, err = strconv.Atoi(power); err != nil || shift > 2*maxKeyNumber ||
			shift < -2*maxKeyNumber {
			return decimal{}, outOfSize()
		}
	}
	d := decimal{negative, digits, len(whole) - zeros + shift}
	return d, d.check()
}

func outOfSize() error {
	return invalid.New(invalid.OutOfRange, "", "is out of its bounds: a number in a key is 0, or from 1e-126 to under 1e126 in size")
}

// check reports a number that is out of its bounds.
func (d decimal) check() error {
	switch {
	case len(d.digits) > MaxKeyDigits:
		return invalid.New(invalid.OutOfRange, "",
			fmt.Sprintf("has %d significant digits: a number in a key has at most %d",
				len(d.digits), MaxKeyDigits))
	case d.digits != "" && (d.exponent > maxKeyExponent || d.exponent <= -maxKeyExponent):
		return outOfSize()
	}
	return nil
}

// String is the number in plain digits.
func (d decimal) String() string {
	whole, fraction := d.split()
	if fraction != "" {
		whole += "." + fraction
	}
	if d.negative {
		return "-" + whole
	}
	return whole
}

// split are the digits before and behind the point.
func (d decimal) split() (whole, fraction string) {
	switch {
	case d.digits == "":
		return "0", ""
	case d.exponent <= 0:
		return "0", strings.Repeat("0", -d.exponent) + d.digits
	case d.exponent >= len(d.digits):
		return d.digits + strings.Repeat("0", d.exponent-len(d.digits)), ""
	}
	return d.digits[:d.exponent], d.digits[d.exponent:]
}

// append writes the stored form.
func (d decimal) append(to []byte) []byte {
	if d.digits == "" {
		return append(to, zeroHead)
	}
	digits, hundreds := d.digits, d.exponent>>1
	if d.exponent&1 != 0 {
		digits, hundreds = "0"+digits, hundreds+1
	}
	if len(digits)%2 != 0 {
		digits += "0"
	}
	start := len(to)
	to = append(to, byte(headOffset+hundreds))
	for i := 0; i < len(digits); i += 2 {
		to = append(to, 2*(10*(digits[i]-'0')+digits[i+1]-'0')+1)
	}
	to[len(to)-1]--
	for i := start; d.negative && i < len(to); i++ {
		to[i] = ^to[i]
	}
	return to
}

// readDecimal reads the stored form of a number at the beginning of a text. It takes only what
// append writes.
func readDecimal(stored string) (d decimal, rest string, ok bool) {
	if stored == "" {
		return decimal{}, "", false
	}
	if stored[0] == zeroHead {
		return decimal{}, stored[1:], true
	}
	d.negative = stored[0] < zeroHead
	var digits []byte
	for i, more := 1, true; more; i++ {
		if i == len(stored) || len(digits) > MaxKeyDigits+1 {
			return decimal{}, "", false
		}
		code := stored[i]
		if d.negative {
			code = ^code
		}
		x := code >> 1
		if x > 99 || x == 0 && (i == 1 || code == 0) {
			return decimal{}, "", false
		}
		digits, more, rest = append(digits, '0'+x/10, '0'+x%10), code&1 != 0, stored[i+1:]
	}
	head := stored[0]
	if d.negative {
		head = ^head
	}
	d.exponent = 2 * (int(head) - headOffset)
	if digits[0] == '0' {
		digits, d.exponent = digits[1:], d.exponent-1
	}
	d.digits = strings.TrimRight(string(digits), "0")
	return d, rest, d.check() == nil
}
