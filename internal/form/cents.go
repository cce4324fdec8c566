package form

import (
	"errors"
	"math/big"
	"strconv"
	"strings"
)

// Cents is an amount of money in whole cents. Its JSON is an exact number in
// dollars with at most two decimals (D18).
type Cents int64

// MaxCents is the upper limit of a field, $999,999,999,999.99 (D18).
const MaxCents Cents = 99_999_999_999_999

// errAmount is returned for a text that is not an amount with at most two
// decimals.
var errAmount = errors.New("form: not an amount of dollars with at most two decimals")

// String returns the amount in dollars for people: $1,234.50, −$20.00.
func (c Cents) String() string {
	sign, n := "", uint64(c)
	if c < 0 {
		sign, n = "−", -n
	}
	dollars := strconv.FormatUint(n/100, 10)
	var b strings.Builder
	b.WriteString(sign + "$")
	for i, d := range dollars {
		if i > 0 && (len(dollars)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	b.WriteString("." + twoDigits(n%100))
	return b.String()
}

// Short returns the amount in dollars for sentences, without cents if there are
// none: $5, $1,570, $7.50.
func (c Cents) Short() string { return strings.TrimSuffix(c.String(), ".00") }

// Decimal returns the amount in dollars without grouping and with no more
// decimals than it needs: 1250.5, 85000.
func (c Cents) Decimal() string {
	sign, n := "", uint64(c)
	if c < 0 {
		sign, n = "-", -n
	}
	text := sign + strconv.FormatUint(n/100, 10)
	if n%100 == 0 {
		return text
	}
	return text + "." + strings.TrimSuffix(twoDigits(n%100), "0")
}

// Grouped returns an amount of 0 or more as people type it: 1,250.50, 85,000.
func (c Cents) Grouped() string {
	return strings.TrimSuffix(strings.TrimPrefix(c.String(), "$"), ".00")
}

func twoDigits(n uint64) string {
	if n < 10 {
		return "0" + strconv.FormatUint(n, 10)
	}
	return strconv.FormatUint(n, 10)
}

// MarshalJSON writes the amount as a number in dollars.
func (c Cents) MarshalJSON() ([]byte, error) { return []byte(c.Decimal()), nil }

// UnmarshalJSON reads a number in dollars with at most two decimals, exactly.
// null doesn't change the amount.
func (c *Cents) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	v, err := parseDecimal(string(b))
	if err != nil {
		return err
	}
	*c = v
	return nil
}

// parseDecimal reads digits with an optional sign, point and one or two
// decimals.
func parseDecimal(s string) (Cents, error) {
	digits, negative := strings.CutPrefix(s, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	if whole == "" && fraction == "" || len(fraction) > 2 {
		return 0, errAmount
	}
	digits = whole + fraction + strings.Repeat("0", 2-len(fraction))
	if strings.Trim(digits, "0123456789") != "" {
		return 0, errAmount
	}
	if negative {
		digits = "-" + digits
	}
	v, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, errAmount
	}
	return Cents(v), nil
}

// Share returns a percentage of an amount, rounded as DivRound does.
func (c Cents) Share(percent int) Cents {
	return DivRound(new(big.Int).Mul(big.NewInt(int64(c)), big.NewInt(int64(percent))), wholeAmount)
}

// DivRound returns n/d in cents, halves away from zero (D49). It takes a big
// integer, so that a sum of products is rounded once, at its end.
func DivRound(n *big.Int, d int64) Cents {
	twice := new(big.Int).Lsh(new(big.Int).Abs(n), 1)
	q := twice.Add(twice, big.NewInt(d)).Quo(twice, big.NewInt(2*d))
	if n.Sign() < 0 {
		q.Neg(q)
	}
	return Cents(q.Int64())
}
