package candor

import (
	"fmt"
	"strconv"
	"strings"
)

// Cents is an amount of money in whole cents. In JSON it is a number of dollars, and
// no float is on the way.
type Cents int64

// ParseCents reads dollars such as 1250, 1250.5 or -1250.50.
func ParseCents(dollars string) (Cents, error) {
	whole, fraction, pointed := strings.Cut(strings.TrimPrefix(dollars, "-"), ".")
	digits := whole + (fraction + "00")[:max(2, len(fraction))]
	cents, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || whole == "" || pointed && fraction == "" || len(fraction) > 2 || strings.Trim(digits, "0123456789") != "" {
		return 0, fmt.Errorf("candor: %q is no amount of dollars with at most two decimals", dollars)
	}
	if strings.HasPrefix(dollars, "-") {
		cents = -cents
	}
	return Cents(cents), nil
}

// String returns dollars with two decimals: 1250.50.
func (c Cents) String() string {
	sign, size := "", uint64(c)
	if c < 0 {
		sign, size = "-", -size
	}
	return fmt.Sprintf("%s%d.%02d", sign, size/100, size%100)
}

// MarshalJSON writes a number of dollars.
func (c Cents) MarshalJSON() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalJSON reads a number of dollars.
func (c *Cents) UnmarshalJSON(text []byte) (err error) {
	if string(text) != "null" {
		*c, err = ParseCents(string(text))
	}
	return err
}
