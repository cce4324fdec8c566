package form

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// DateLayout is the format of a date in JSON.
const DateLayout = "2006-01-02"

// date is a calendar date, typed as day, month and year.
type date struct {
	deferral
	p        *time.Time
	earliest time.Time
	latest   time.Time
	day      string // as typed
	month    string
	year     string
	message  string
	meant    string        // the year that two digits can stand for, "" for none
	check    func() string // what is wrong with a date in that range, evaluated after decoding; can be nil
}

// PastDate describes a date between 1900 and today. Its Autocomplete, if set,
// is the prefix of the three inputs' tokens, "bday".
func PastDate(p *time.Time, name, label string, today time.Time) Field {
	return Field{Name: name, Label: label, Kind: KindDate, Value: &date{p: p,
		earliest: time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC), latest: today}}
}

// Checked refuses dates for which check returns what is wrong. It is evaluated after
// decoding.
func (f Field) Checked(check func() string) Field {
	f.Value.(*date).check = check
	return f
}

func (v *date) Parse(get func(string) string) {
	var garbled [3]string
	v.day, garbled[0] = readLine(get("day"), maxCode)
	v.month, garbled[1] = readLine(get("month"), maxCode)
	v.year, garbled[2] = readLine(get("year"), maxCode)
	*v.p, v.message, v.meant = time.Time{}, "", ""
	if garbled != [3]string{} {
		v.message = notADate
		return
	}
	v.day, v.month, v.year = norm.NFKC.String(v.day), norm.NFKC.String(v.month), norm.NFKC.String(v.year) // wide digits
	v.split()
	switch missing := v.missing(); {
	case len(missing) == 3:
	case len(missing) > 0:
		v.message = lacksPart + strings.Join(missing, " and ")
	default:
		*v.p, v.message = v.parse()
	}
}

// split spreads a whole date over the inputs if it was pasted into one of them:
// 27/03/1985, 27 March 1985, March 27, 1985, 1985-03-27, 1985年3月27日.
func (v *date) split() {
	if len(v.missing()) != 2 {
		return
	}
	words := strings.FieldsFunc(strings.ToLower(v.day+v.month+v.year), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) || strings.ContainsRune("年月日", r)
	})
	if len(words) == 5 && words[1] == "tháng" && words[3] == "năm" { // as Vietnamese is written
		words = []string{words[0], words[2], words[4]}
	}
	if len(words) != 3 {
		return
	}
	v.day, v.month, v.year = words[0], words[1], words[2]
	switch {
	case unicode.IsLetter([]rune(words[0])[0]):
		v.day, v.month = words[1], words[0]
	case len(words[0]) == 4 && !ordinal.MatchString(words[0]):
		v.day, v.year = words[2], words[0]
	}
	v.day = ordinal.ReplaceAllString(v.day, "$1")
}

var ordinal = regexp.MustCompile(`^([0-9]{1,2})(?:st|nd|rd|th)$`)

const notADate = "must be a real date, like 27 3 1985"

// badYear begins the messages about a year.
const badYear = "must have a year of four digits"

// lacksPart begins the message about a date that misses a part.
const lacksPart = "must include "

func (v *date) missing() []string {
	var out []string
	for _, part := range [][2]string{{v.day, "a day"}, {v.month, "a month"}, {v.year, "a year"}} {
		if part[0] == "" {
			out = append(out, part[1])
		}
	}
	return out
}

func (v *date) parse() (t time.Time, message string) {
	day, dayErr := strconv.Atoi(strings.TrimRight(v.day, " 日号"))
	month, monthOK := parseMonth(v.month)
	typedYear := strings.TrimRight(v.year, " 年")
	year, yearErr := strconv.Atoi(typedYear)
	if dayErr != nil || !monthOK || yearErr != nil {
		return t, notADate
	}
	if len(typedYear) == 2 && year >= 0 {
		century := v.latest.Year() / 100 * 100
		if century+year > v.latest.Year() {
			century -= 100
		}
		if _, is := realDate(century+year, month, day); !is {
			return t, notADate
		}
		v.meant = strconv.Itoa(century + year)
		return t, badYear + ". Did you mean " + valuePlace + "?"
	}
	if year < 0 || len(typedYear) != 4 {
		return t, badYear + ", like 1985"
	}
	d, is := realDate(year, month, day)
	switch {
	case !is:
		return t, notADate
	case d.After(v.latest):
		return t, "must be in the past"
	case d.Before(v.earliest):
		return t, "must be in " + strconv.Itoa(v.earliest.Year()) + " or later"
	}
	return d, ""
}

// realDate is a day of the calendar, false for one such as 31 February.
func realDate(year int, month time.Month, day int) (t time.Time, is bool) {
	t = time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	return t, t.Day() == day && t.Month() == month
}

// errorPart is the box that the message is about: the first that is empty, else the year if that
// isn't one, else the first.
func (v *date) errorPart() string {
	boxes := []string{".day", ".month", ".year"}
	if i := slices.Index([]string{v.day, v.month, v.year}, ""); i > 0 {
		return boxes[i]
	}
	if strings.HasPrefix(v.message, badYear) {
		return boxes[2]
	}
	return boxes[0]
}

// parseMonth accepts 1–12, an English month's name or at least its first three letters,
// also with a full stop, and both as Chinese and Vietnamese write them: 3月, 三月, tháng 3, thg 3, tháng ba.
func parseMonth(s string) (time.Month, bool) {
	s = strings.TrimSuffix(strings.ToLower(s), ".")
	for m := time.January; m <= time.December; m++ {
		if name := strings.ToLower(m.String()); len(s) >= 3 && strings.HasPrefix(name, s) {
			return m, true
		}
	}
	if m := slices.Index(vietnameseMonths, s); m >= 0 { // before the "t" of tám is taken for tháng
		return time.Month(m + 1), true
	}
	s = strings.TrimSpace(monthWords.ReplaceAllString(s, ""))
	if m := slices.Index(chineseMonths, s) + slices.Index(vietnameseMonths, s) + 2; m > 0 {
		return time.Month(m), true
	}
	n, err := strconv.Atoi(s)
	return time.Month(n), err == nil && n >= 1 && n <= 12
}

// monthWords say "month" before or after its number.
var monthWords = regexp.MustCompile(`^(?:tháng|thang|thg|th|t)\.?\s*|\s*月(?:份)?$`)

// The names of months, from January, without the word "month".
var (
	chineseMonths    = []string{"一", "二", "三", "四", "五", "六", "七", "八", "九", "十", "十一", "十二"}
	vietnameseMonths = []string{"một", "hai", "ba", "tư", "năm", "sáu", "bảy", "tám", "chín", "mười", "mười một", "mười hai"}
)

func (v *date) Input(part string) string {
	if v.p.IsZero() {
		return map[string]string{"day": v.day, "month": v.month, "year": v.year}[part]
	}
	switch part {
	case "day":
		return strconv.Itoa(v.p.Day())
	case "month":
		return strconv.Itoa(int(v.p.Month()))
	}
	return strconv.Itoa(v.p.Year())
}

// A Day is a day of the calendar. It is the same in every time zone, so it is
// no time.Time: pages show those on the customer's clock.
type Day struct{ midnight time.Time } // UTC

// Format formats the day as time.Time does.
func (d Day) Format(layout string) string { return d.midnight.Format(layout) }

// Day returns the answer of a date; false without an answer and for other
// kinds.
func (f Field) Day() (Day, bool) {
	v, ok := f.Value.(*date)
	if !ok || v.p.IsZero() {
		return Day{}, false
	}
	return Day{*v.p}, true
}

func (v *date) Display() string {
	if v.p.IsZero() {
		return ""
	}
	return v.p.Format("2 January 2006")
}

func (v *date) Empty() bool     { return v.p.IsZero() && v.message == "" }
func (v *date) Schema() *Schema { return &Schema{Type: "string", Format: "date"} }

func (v *date) ErrorMessage() string {
	if v.check == nil || v.p.IsZero() {
		return v.message
	}
	return v.check()
}

func (v *date) MarshalJSON() ([]byte, error) {
	if v.p.IsZero() {
		return []byte(`""`), nil
	}
	return json.Marshal(v.p.Format(DateLayout))
}

func (v *date) UnmarshalJSON(data []byte) error {
	var s string
	if err := json.Unmarshal(data, &s); err != nil || s == "" {
		return err
	}
	t, err := time.Parse(DateLayout, s)
	*v.p = t
	return err
}
