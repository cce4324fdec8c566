package form

import (
	"encoding/json"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// money is an amount of 0 or more in dollars; an empty input is 0 (D19). A
// recurring one can be typed in any period, and as several amounts that are
// added up (D53).
type money struct {
	deferral
	p       *Cents
	period  Period  // the unit of *p
	share   Share   // what of the typed amounts is the answer; nil for all
	typed   []typed // nil if the amount is stored as one in its own period
	chosen  Period  // of a blank amount, so that the page shows the choice again; never an answer
	message string
	wrong   int // the number in typed of the amount that message is about, 0 if it is about all
}

// typed is one amount as the customer typed it.
type typed struct {
	input  string
	period Period // the field's own if none was sent; Once if the customer must say it (D77); unknown as sent (D85)
	cents  Cents
}

// maxAmounts is how many amounts can be added up in one field.
const maxAmounts = 12

// mostAmounts is how many are read: those that can't be added up are shown again and refused
// (D85).
const mostAmounts = 2 * maxAmounts

// Money describes an amount in dollars, 0 if nothing is typed.
func Money(p *Cents, name, label string, period Period) Field {
	return Field{Name: name, Label: label, Kind: KindMoney, Period: period, Optional: true, Value: &money{p: p, period: period}}
}

// A Share returns the customer's percentage of amounts that others pay with, 100 if it
// isn't asked for. It is not known before it is answered.
type Share func() (percent int, known bool)

// Shared says that the question is about a whole amount, of which the customer's share is
// the answer. The question for the share, whose input is named if it is asked, must come
// before.
func (f Field) Shared(by Share, input string) Field {
	f.SharedBy = input
	if v, ok := f.Value.(*money); ok {
		v.share = by
	}
	return f
}

// Share returns the customer's percentage of the amount that is asked for, false if it
// isn't shared or not yet known.
func (f Field) Share() (percent int, shared bool) {
	share := f.Owned
	if v, ok := f.Value.(*money); ok && share == nil {
		share = v.share
	}
	if share == nil {
		return 0, false
	}
	percent, known := share()
	return percent, known && percent != wholeAmount
}

// askedWhole reports whether the typed amount is the answer.
func (f Field) askedWhole() bool {
	v, ok := f.Value.(*money)
	if !ok || v.share == nil {
		return true
	}
	percent, known := v.share()
	return known && percent == wholeAmount
}

// wholeAmount is the percentage of an amount that isn't shared.
const wholeAmount = 100

// percent is the share of the typed amounts that is the answer.
func (v *money) percent() int {
	if v.share == nil {
		return wholeAmount
	}
	if percent, known := v.share(); known {
		return percent
	}
	return wholeAmount
}

// Parse reads the parts "" and "period", and of further amounts "2",
// "2.period" and so on. Further blank amounts are dropped.
func (v *money) Parse(get func(string) string) {
	*v.p, v.typed, v.message, v.wrong, v.chosen = 0, nil, "", 0, Once
	for i := range v.limit() {
		part := amountPart(i)
		line, garbled := readLine(get(part), maxCode)
		period, _ := readLine(get(join(part, "period")), maxCode)
		if line == "" {
			if i == 0 && v.period != Once && Period(period).timesAYear() > 0 {
				v.chosen = Period(period)
			}
			continue
		}
		next, message := v.parseAmount(line, garbled != "", Period(period))
		if v.message == "" && message != "" {
			v.message, v.wrong = message, len(v.typed)
		}
		v.typed = append(v.typed, next)
	}
	switch {
	case v.message != "":
	case len(v.typed) > maxAmounts:
		v.message, v.wrong = tooMany, maxAmounts
	default:
		*v.p, v.message = v.sum()
	}
}

// limit is how many amounts are read.
func (v *money) limit() int {
	if v.period == Once {
		return 1
	}
	return mostAmounts
}

// amountPart is the input's part of amount i of a field: "", "2", "3".
func amountPart(i int) string {
	if i == 0 {
		return ""
	}
	return strconv.Itoa(i + 1)
}

func join(part, next string) string { return strings.TrimPrefix(part+"."+next, ".") }

// parts lists the parts of all inputs.
func (v *money) parts() []string {
	var out []string
	for i := range max(1, len(v.typed)) {
		out = append(out, amountPart(i))
		if v.period != Once {
			out = append(out, join(amountPart(i), "period"))
		}
	}
	return out
}

// parseAmount reads one amount. The period that is typed with it wins over the one that
// is chosen beside it. Without either it is the field's own, but one that was left
// unchosen is never guessed (D77), and one that isn't known is kept and refused (D85).
// What is garbled, or longer than any amount, isn't searched for one.
func (v *money) parseAmount(input string, garbled bool, chosen Period) (typed, string) {
	t := typed{input: input, period: v.period}
	if v.period != Once && chosen != Once {
		t.period = chosen.said()
	}
	if garbled {
		return t, notAnAmount
	}
	amount, period, message := parseMoney(input)
	switch {
	case message != "":
		return t, message
	case period != Once && v.period == Once:
		return t, notAnAmount
	case t.period != Once && t.period.timesAYear() == 0:
		return t, noPeriod
	case period != Once:
		t.period = period
	}
	t.input, t.cents = amount.Grouped(), amount // the period is in its own input
	switch {
	case t.period != Once || v.period == Once:
	case amount == 0:
		t.period = v.period // nothing is nothing in any period
	default:
		return t, noPeriod
	}
	return t, ""
}

// plain reports whether what was typed is the answer itself.
func (v *money) plain() bool {
	return len(v.typed) == 1 && v.typed[0].period == v.period && v.percent() == wholeAmount
}

// sum is the customer's share of the amounts in the field's own period, rounded once.
func (v *money) sum() (Cents, string) {
	if len(v.typed) == 0 {
		return 0, ""
	}
	if v.plain() {
		return v.typed[0].cents, ""
	}
	yearly := new(big.Int)
	for _, t := range v.typed {
		yearly.Add(yearly, new(big.Int).Mul(big.NewInt(int64(t.cents)), big.NewInt(t.period.timesAYear())))
	}
	if yearly.Cmp(big.NewInt(int64(MaxCents)*v.period.timesAYear())) > 0 {
		return 0, tooLarge + " " + v.period.Per()
	}
	return DivRound(yearly.Mul(yearly, big.NewInt(int64(v.percent()))), wholeAmount*v.period.timesAYear()), ""
}

// belowZero says that an amount is negative. Field.BelowZero says more of it.
const belowZero = "must be $0 or more"

// noPeriod says that an amount has no period. Field.AskPeriod says it to the customer.
const noPeriod = "must be an amount a week, fortnight, month, quarter or year"

const notAnAmount = "must be an amount in dollars, like 1250 or 1,250.50"

var tooMany = "must have at most " + strconv.Itoa(maxAmounts) + " amounts"

var tooLarge = "must be " + MaxCents.String() + " or less"

var (
	// grouped is a number whose separators, if any, are at the thousands: in
	// "1,50" the comma could be a decimal comma, so it must not be read as 150.
	grouped = regexp.MustCompile(`^(?:[0-9]*|[0-9]{1,3}(?:[,\s][0-9]{3})+)(?:\.[0-9]*)?$`)
	// decimalComma is a number as other countries write it, such as 1.234,56.
	decimalComma = regexp.MustCompile(`^[0-9]{1,3}(?:\.?[0-9]{3})*,[0-9]{1,2}$`)
	currency     = regexp.MustCompile(`^(?:\+\s*)?(?:(?:a\$|au\$|aud|\$)\s*)?`)
	// ending is what can follow an amount: "k" for thousands, "aud", "per week", "/wk",
	// "p.w.". An "m" could be a million or a month, so it is refused.
	ending = regexp.MustCompile(
		`^([^a-z/]*[0-9.])\s*(k\b)?\s*(?:aud|dollars)?\s*(?:(?:/\s*|per |a |an |each |every )?([a-z][a-z./]*))?$`)
)

// parseMoney reads an amount as people type it, with the period that follows
// it, or returns what is wrong with it.
func parseMoney(s string) (amount Cents, period Period, message string) {
	s = strings.ToLower(norm.NFKC.String(s)) // digits of an East Asian keyboard, unusual spaces
	s = currency.ReplaceAllString(strings.TrimSpace(s), "")
	thousands := false
	if strings.HasPrefix(s, "-") || strings.HasPrefix(s, "−") {
		return 0, "", belowZero
	}
	if m := ending.FindStringSubmatch(s); m != nil {
		word := strings.ReplaceAll(strings.ReplaceAll(m[3], ".", ""), "/", "")
		s, thousands, period = strings.TrimSpace(m[1]), m[2] != "", periodWords[word]
		if word != "" && period == Once {
			return 0, "", notAnAmount
		}
	}
	if decimalComma.MatchString(s) {
		return 0, "", "must have a point before the cents, like 1,250.50"
	}
	if !grouped.MatchString(s) {
		return 0, "", notAnAmount
	}
	dollars, cents, _ := strings.Cut(strings.Map(dropSeparators, s), ".")
	if thousands && dollars+cents != "" {
		moved := cents + "000"
		dollars, cents = dollars+moved[:3], strings.TrimRight(moved[3:], "0")
	}
	if len(cents) > 2 {
		return 0, "", "must have at most two decimals, like 1,250.50"
	}
	amount, err := parseDecimal(dollars + "." + cents)
	switch {
	case len(strings.TrimLeft(dollars, "0")) > len("999999999999"):
		return 0, "", tooLarge
	case err != nil:
		return 0, "", notAnAmount
	}
	return amount, period, ""
}

// ParseAmount reads an amount of 0 or more as people type it, without a period;
// ok is whether it is one.
func ParseAmount(text string) (amount Cents, ok bool) {
	amount, period, message := parseMoney(text)
	return amount, message == "" && period == Once && strings.TrimSpace(text) != ""
}

func dropSeparators(r rune) rune {
	if r == '.' {
		return r
	}
	return onlyDigits(r)
}

func (v *money) Input(part string) string {
	number, last, nested := strings.Cut(part, ".")
	if number == "period" || nested && last == "period" {
		return string(v.amount(number).period)
	}
	return v.amount(number).input
}

// amount is the typed amount of an input's first part, "" or "2".
func (v *money) amount(number string) typed {
	i, err := strconv.Atoi(number)
	if err != nil {
		i = 1
	}
	switch {
	case i <= len(v.typed):
		return v.typed[i-1]
	case i == 1 && *v.p == 0:
		return typed{period: v.chosen}
	case i > 1:
		return typed{}
	}
	return typed{input: v.p.Grouped(), period: v.period}
}

// Amount is the answer of a field for money, 0 for others.
func (f Field) Amount() Cents {
	v, ok := f.Value.(*money)
	if !ok {
		return 0
	}
	return *v.p
}

// Part is the customer's part of an amount that is stored whole, and how it comes about,
// "$900.00 × 50%"; false if all of it is the customer's, or the share isn't known.
func (f Field) Part() (part Cents, how string, ok bool) {
	percent, shared := f.Share()
	if f.Owned == nil || !shared || f.Value.Empty() || f.Value.ErrorMessage() != "" {
		return 0, "", false
	}
	return f.Amount().Share(percent), f.Value.Display() + " × " + strconv.Itoa(percent) + "%", true
}

// HasPart reports whether one of the fields is an amount of which only a part is the
// customer's: it says the percentage.
func HasPart(fields []Field) bool {
	return slices.ContainsFunc(fields, func(f Field) bool {
		_, _, isPart := f.Part()
		return isPart
	})
}

// LacksPeriod reports whether an amount was given without its period.
func (f Field) LacksPeriod() bool {
	v, ok := f.Value.(*money)
	return ok && v.message == noPeriod
}

// WrongPart is which of the field's Parts has the amount that its message is about: ".2" of
// the second one, "" otherwise.
func (f Field) WrongPart() string {
	v, ok := f.Value.(*money)
	if !ok || v.wrong == 0 {
		return ""
	}
	return "." + amountPart(v.wrong)
}

// ErrorPart is which of the field's Parts an error about it leads to: the box of a date, the
// one of several amounts that is wrong or the period that it lacks.
func (f Field) ErrorPart() string {
	if v, ok := f.Value.(*date); ok {
		return v.errorPart()
	}
	if f.LacksPeriod() {
		return f.WrongPart() + ".period"
	}
	return f.WrongPart()
}

func (v *money) Display() string      { return v.p.String() }
func (v *money) Empty() bool          { return *v.p == 0 && len(v.typed) == 0 }
func (v *money) ErrorMessage() string { return v.message }

// typedZero is an amount that was typed as 0, so that it is redisplayed as 0
// and not as an empty input. An amount that was not typed is written as 0
// (D19). Both are the same number.
const typedZero = "0.00"

func (v *money) MarshalJSON() ([]byte, error) {
	if *v.p == 0 && len(v.typed) > 0 {
		return []byte(typedZero), nil
	}
	return v.p.MarshalJSON()
}

func (v *money) UnmarshalJSON(data []byte) error {
	v.typed = nil
	if string(data) == typedZero {
		v.typed = []typed{{input: "0", period: v.period}}
	}
	return v.p.UnmarshalJSON(data)
}

// Schema has no multipleOf 0.01: validators that use binary floating point
// would reject exact amounts such as 0.07.
func (v *money) Schema() *Schema {
	s := DollarSchema()
	s.Minimum, s.Maximum = "0", json.Number(MaxCents.Decimal())
	return s
}
