package form_test

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nyaruka/phonenumbers"

	"candor/internal/form"
)

// section returns a section of plain fields.
func section(fields ...form.Field) *form.Section {
	return &form.Section{Name: "test", Groups: []form.Group{{Fields: fields}}}
}

// message decodes one typed text into a field named "f" and returns its error
// message.
func message(f form.Field, typed string) string {
	return section(f).Decode(url.Values{"f": {typed}}).For("f")
}

const (
	notAnAmount = "Pay must be an amount in dollars, like 1250 or 1,250.50"
	negative    = "Pay must be $0 or more"
	comma       = "Pay must have a point before the cents, like 1,250.50"
	decimals    = "Pay must have at most two decimals, like 1,250.50"
	tooMuch     = "Pay must be $999,999,999,999.99 or less"
)

func TestMoney(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		typed   string
		want    form.Cents
		message string
	}{
		{"", 0, ""}, {"  ", 0, ""}, {"0", 0, ""}, {"0.00", 0, ""},
		{"1250", 125_000, ""}, {"1250.5", 125_050, ""}, {"1250.50", 125_050, ""}, {" 1250 ", 125_000, ""},
		{"$1,234.50", 123_450, ""}, {"$ 1,234.50", 123_450, ""}, {"1 234.5", 123_450, ""},
		{"1\u00a0234\u00a0567", 123_456_700, ""}, {"1\u202f234", 123_400, ""}, {"1\u2009234", 123_400, ""},
		{"A$1,200", 120_000, ""}, {"AU$ 12", 1200, ""}, {"5 AUD", 500, ""}, {"aud 5", 500, ""}, {"$5 dollars", 500, ""},
		{"１２００", 120_000, ""}, {"＄１，２００．５", 120_050, ""},
		{".5", 50, ""}, {"5.", 500, ""}, {"0.07", 7, ""}, {"007", 700, ""}, {strings.Repeat("0", 40) + "1", 100, ""},
		{"999,999,999,999.99", form.MaxCents, ""}, {"999999999999.99", form.MaxCents, ""},
		{"1000000000000", 0, tooMuch}, {"1,000,000,000,000.00", 0, tooMuch}, {strings.Repeat("9", 90), 0, tooMuch},
		{"1,50", 0, comma}, {"1.234,50", 0, comma}, {"1234,5", 0, comma}, {"1.234.567,89", 0, comma}, {"12,34,567", 0, notAnAmount},
		{",500", 0, notAnAmount},
		{"1,,234", 0, notAnAmount}, {"1e5", 0, notAnAmount}, {"0x10", 0, notAnAmount}, {"abc", 0, notAnAmount},
		{"$", 0, notAnAmount}, {".", 0, notAnAmount}, {"$$5", 0, notAnAmount}, {"5 a week", 0, notAnAmount},
		{"5 aud aud", 0, notAnAmount}, {"5m", 0, notAnAmount}, {"1.2m", 0, notAnAmount},
		{"2k", 200_000, ""}, {"85k", 8_500_000, ""}, {"85K", 8_500_000, ""}, {"$2k", 200_000, ""}, {"1.5k", 150_000, ""},
		{"2 k", 200_000, ""}, {"A$1,200k", 120_000_000, ""}, {"2k aud", 200_000, ""},
		{".5k", 50_000, ""}, {"1.23456k", 123_456, ""}, {"２Ｋ", 200_000, ""}, {"0k", 0, ""}, {"1.234567k", 0, decimals},
		{"1,5k", 0, comma}, {"1000000000k", 0, tooMuch},
		{"k", 0, notAnAmount}, {".k", 0, notAnAmount}, {"$k", 0, notAnAmount}, {"2kk", 0, notAnAmount}, {"2kg", 0, notAnAmount},
		{"k2", 0, notAnAmount}, {"-2k", 0, negative},
		{"+500", 50_000, ""}, {"+ 500", 50_000, ""}, {"+$500", 50_000, ""}, {"+2k", 200_000, ""}, {"$+500", 0, notAnAmount},
		{"++5", 0, notAnAmount}, {"5+5", 0, notAnAmount}, {"+", 0, notAnAmount}, {"+-5", 0, negative},
		{"1.2.3", 0, notAnAmount}, {"١٢", 0, notAnAmount}, {"12\x003", 0, notAnAmount}, {"12\xff", 0, notAnAmount},
		{"NaN", 0, notAnAmount}, {"Infinity", 0, notAnAmount}, {strings.Repeat("1", 101), 0, notAnAmount},
		{"-5", 0, negative}, {"−5", 0, negative}, {"-$5", 0, negative}, {"$-5", 0, negative}, {"−$5", 0, negative},
		{"1.234", 0, decimals}, {"1,234.505", 0, decimals}, {"99999999999.9999", 0, decimals}, {"999999999999.999", 0, decimals},
	} {
		got := form.Cents(1)
		if msg := message(form.Money(&got, "f", "Pay", form.Once), tt.typed); got != tt.want || msg != tt.message {
			t.Errorf("%q: %d cents, %q; want %d, %q", tt.typed, got, msg, tt.want, tt.message)
		}
	}
}

func TestPercent(t *testing.T) {
	t.Parallel()
	const invalid = "Share must be a whole number from 0 to 100"
	for _, tt := range []struct {
		typed   string
		want    int
		message string
	}{
		{"0", 0, ""}, {"50", 50, ""}, {"100", 100, ""}, {"50%", 50, ""}, {" 50 % ", 50, ""}, {"５０％", 50, ""},
		{"", 0, "Enter share"}, {"101", 0, invalid}, {"-1", 0, invalid}, {"33.3", 0, invalid}, {"%", 0, invalid},
		{"half", 0, invalid}, {"5\x000", 0, invalid}, {"99999999999999999999", 0, invalid},
	} {
		got := 7
		if msg := message(form.Percent(&got, "f", "Share"), tt.typed); got != tt.want || msg != tt.message {
			t.Errorf("%q: %d, %q; want %d, %q", tt.typed, got, msg, tt.want, tt.message)
		}
	}
}

func TestPastDate(t *testing.T) {
	t.Parallel()
	const notReal = "Born must be a real date, like 27 3 1985"
	const year = "Born must have a year of four digits. Did you mean "
	for _, tt := range []struct{ day, month, year, want, message string }{
		{"27", "3", "1985", "1985-03-27", ""}, {"07", "03", "1985", "1985-03-07", ""}, {" 7 ", " 3", "1985 ", "1985-03-07", ""},
		{"27", "jan", "1985", "1985-01-27", ""}, {"27", "MARCH", "1985", "1985-03-27", ""}, {"1", "Sept", "1985", "1985-09-01", ""},
		{"29", "2", "2024", "2024-02-29", ""}, {"29", "2", "2000", "2000-02-29", ""},
		{"1", "1", "1900", "1900-01-01", ""}, {"20", "11", "2026", "2026-11-20", ""}, {"２７", "３", "１９８５", "1985-03-27", ""},
		{"29", "2", "2023", "", notReal}, {"29", "2", "1900", "", notReal}, {"31", "4", "1985", "", notReal},
		{"0", "1", "1985", "", notReal}, {"32", "1", "1985", "", notReal}, {"1", "0", "1985", "", notReal},
		{"1", "13", "1985", "", notReal},
		{"-1", "1", "1985", "", notReal}, {"1", "ja", "1985", "", notReal}, {"1", "janx", "1985", "", notReal},
		{"x", "1", "1985", "", notReal},
		{"1", "1", "next", "", notReal}, {"1\x002", "1", "1985", "", notReal}, {"99999999999999999999", "1", "1985", "", notReal},
		{"1", "1", "85", "", year + "1985?"}, {"1", "1", "26", "", year + "2026?"}, {"1", "1", "27", "", year + "1927?"},
		{"31", "feb", "88", "", notReal},
		{"1", "1", "0٣", "", notReal},
		{"1", "1", "198", "", "Born must have a year of four digits, like 1985"}, {"1", "1", "19855", "",
			"Born must have a year of four digits, like 1985"}, {"1", "1", "-198", "", "Born must have a year of four digits, like 1985"},
		{"21", "11", "2026", "", "Born must be in the past"}, {"1", "1", "9999", "", "Born must be in the past"},
		{"31", "12", "1899", "", "Born must be in 1900 or later"},
		{"", "", "", "", "Enter your date of birth"},
		{"27", "", "1985", "", "Born must include a month"}, {"", "3", "1985", "", "Born must include a day"},
		{"27", "", "", "", "Born must include a month and a year"},
		{"27/03/1985", "", "", "1985-03-27", ""}, {"27 March 1985", "", "", "1985-03-27", ""}, {"", "", "1985-03-27", "1985-03-27", ""},
		{"", "27th Mar. 1985", "", "1985-03-27", ""}, {"July 4, 1985", "", "", "1985-07-04", ""},
		{"March 27, 1985", "", "", "1985-03-27", ""}, {"27.3.1985", "", "", "1985-03-27", ""},
		{"２７／０３／１９８５", "", "", "1985-03-27", ""}, {"1985年3月27日", "", "", "1985-03-27", ""}, {"27 tháng 3 năm 1985", "", "",
			"1985-03-27", ""},
		{"27", "3月", "1985", "1985-03-27", ""}, {"27日", "三月", "1985年", "1985-03-27", ""}, {"27号", "十二月", "1985", "1985-12-27", ""},
		{"２７日", "１１月", "１９８５年", "1985-11-27", ""},
		{"27", "Mar.", "1985", "1985-03-27", ""}, {"27 Sept. 1985", "", "", "1985-09-27", ""}, {"27", ".", "1985", "", notReal},
		{"27", "Ma.", "1985", "", notReal}, {"27", "tháng 3", "1985", "1985-03-27", ""}, {"27", "Tháng Ba", "1985", "1985-03-27", ""},
		{"27", "thg 3", "1985", "1985-03-27", ""}, {"27", "T12", "1985", "1985-12-27", ""}, {"27", "Tám", "1985", "1985-08-27", ""},
		{"27", "tư", "1985", "1985-04-27", ""}, {"27", "tháng tám", "1985", "1985-08-27", ""},
		{"27", "tha\u0301ng mười một", "1985", "1985-11-27", ""}, {"27", "thang 4", "1985", "1985-04-27", ""},
		{"27", "13月", "1985", "", notReal}, {"27", "tháng", "1985", "", notReal}, {"27", "月", "1985", "", notReal},
		{"27", "tháng 0", "1985", "", notReal}, {"27", "tháng march", "1985", "", notReal},
		{"27 tháng ba năm 1985", "", "", "1985-03-27", ""}, {"1985年三月27日", "", "", "1985-03-27", ""},
		{"27/3/85", "", "", "", year + "1985?"}, {"3/27/1985", "", "", "", notReal},
		{"27/3", "", "", "", "Born must include a month and a year"},
		{"27/3/1985", "4", "", "", "Born must include a year"}, {"27/3/1985", "3", "1985", "", notReal},
		{"1/2/3/4", "", "", "", "Born must include a month and a year"},
	} {
		got := time.Date(1999, 9, 9, 0, 0, 0, 0, time.UTC)
		today := time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)
		s := section(form.PastDate(&got, "f", "Born", today).Asks("Enter your date of birth"))
		msg := s.Decode(url.Values{"f.day": {tt.day}, "f.month": {tt.month}, "f.year": {tt.year}}).For("f")
		want, _ := time.Parse(form.DateLayout, tt.want)
		if !got.Equal(want) || msg != tt.message {
			t.Errorf("%q %q %q: %s, %q; want %s, %q", tt.day, tt.month, tt.year, got, msg, want, tt.message)
		}
		begun := strings.HasPrefix(msg, "Enter") || strings.HasPrefix(msg, "Born must include")
		if gaps := s.Gaps(); msg != "" && gaps[0].Wrong == begun {
			t.Errorf("%q %q %q: %q is said to be wrong: %t", tt.day, tt.month, tt.year, msg, gaps[0].Wrong)
		}
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	const (
		controls   = "Name must be one line without control characters"
		unreadable = "Name contains characters that can’t be read: type it again"
		long       = "Name must be 200 characters or fewer"
	)
	for _, tt := range []struct{ typed, want, message string }{
		{"  Ann \n", "Ann", ""}, {"", "", "Enter name"}, {"\u00a0\t", "", "Enter name"},
		{"e\u0301", "é", ""}, {"Zoë O’Brien-Łódź", "Zoë O’Brien-Łódź", ""}, {"<b>&amp;</b>", "<b>&amp;</b>", ""},
		{"שלום עולם", "שלום עולם", ""}, {"محمد", "محمد", ""},
		{strings.Repeat("é", 200), strings.Repeat("é", 200), ""}, {strings.Repeat("e\u0301", 200), strings.Repeat("é", 200), ""},
		{strings.Repeat("王", 200), strings.Repeat("王", 200), ""},
		{strings.Repeat("é", 201), strings.Repeat("é", 201), long},
		{" a\x00b ", "a\x00b", controls}, {"a\nb", "a\nb", controls}, {"a\u0085b", "a\u0085b", controls},
		{"a\u2028b", "a\u2028b", controls}, {"\x00", "\x00", controls},
		{"e\x00\u0301", "e\x00\u0301", controls}, {"a\x7fb", "a\x7fb", controls},
		{"a\xffb", "a\ufffdb", unreadable}, {"a\ufffdb", "a\ufffdb", unreadable}, {"a\xff\x00b", "a\ufffd\x00b", unreadable},
	} {
		var got string
		if msg := message(form.Text(&got, "f", "Name"), tt.typed); got != tt.want || msg != tt.message {
			t.Errorf("%q: %q, %q; want %q, %q", tt.typed, got, msg, tt.want, tt.message)
		}
	}
	var got string
	if msg := message(form.LongText(&got, "f", "Street"), strings.Repeat("ж", 500)); msg != "" {
		t.Errorf("500 characters of a long text: %q", msg)
	}
	if msg := message(form.LongText(&got, "f", "Street"), strings.Repeat("ж",
		501)); msg != "Street must be 500 characters or fewer" {
		t.Errorf("501 characters of a long text: %q", msg)
	}
}

func TestEmail(t *testing.T) {
	t.Parallel()
	domain := strings.Repeat("d", 60) + "." + strings.Repeat("e", 60) + "." + strings.Repeat("f", 60) + "."
	for address, ok := range map[string]bool{
		"name@example.com": true, "first.last+tag@sub.example.com.au": true, "o'brien@example.com": true, "ü@bücher.example": true,
		strings.Repeat("a", 64) + "@" + domain + "abcdef":  true,
		strings.Repeat("a", 64) + "@" + domain + "abcdefg": false, strings.Repeat("a", 65) + "@example.com": false,
		"name": false, "name@": false, "@example.com": false, "name@localhost": false, "name@example.com.": false,
		"a@b@example.com":  false,
		"a..b@example.com": false, ".a@example.com": false, "name@example..com": false, "name@[127.0.0.1]": false,
		`"a b"@example.com`: false, "Name <name@example.com>": false, "a@example.com, b@example.com": false,
		"name@example.com (x)": false, "na me@example.com": false, "name@exa mple.com": false,
		"name@example.com\r\nBcc: x@example.com": false,
	} {
		if got := form.ValidEmail(address); got != ok {
			t.Errorf("ValidEmail(%q) = %t, want %t", address, got, ok)
		}
	}
	var got string
	if msg := message(form.Email(&got, "f", "Email"), " name@example.com "); msg != "" || got != "name@example.com" {
		t.Errorf("an address with spaces around it: %q, %q", got, msg)
	}
	if msg := message(form.Email(&got, "f", "Email"), "name"); msg != "Email must be in the correct format, like name@example.com" {
		t.Errorf("no address: %q", msg)
	}
}

func here() bool   { return false }
func abroad() bool { return true }

// TestPhone checks that a number is one by its country's plan, and is kept in the usual
// spacing (D82).
func TestPhone(t *testing.T) {
	t.Parallel()
	const (
		wrongHere   = "Phone must be complete, with its area code, like 0412 345 678. If it isn’t Australian, start with +, like +44 20 7946 0958"
		wrongAbroad = "Phone must start with + and the code of its country, like +44 20 7946 0958"
	)
	for typed, want := range map[string]string{
		"0412 345 678": "0412 345 678", "0412345678": "0412 345 678", "+61 412 345 678": "0412 345 678",
		"+61 (0)412 345 678": "0412 345 678", "61412345678": "0412 345 678",
		"0398765432": "(03) 9876 5432", "(02) 9999-9999": "(02) 9999 9999", "0412.345.678": "0412 345 678", "131 450": "13 14 50",
		"1800 007 007": "1800 007 007",
		"０４１２　３４５　６７８": "0412 345 678", "\u202a0412\u00a0345‑678\u202c": "0412 345 678",
		"+442079460958": "+44 20 7946 0958", "0011 44 20 7946 0958": "+44 20 7946 0958", "+84 912345678": "+84 912 345 678",
		"+86 13800138000": "+86 138 0013 8000", "+1 (201) 555.0123": "+1 201-555-0123",
	} {
		var got string
		if msg := message(form.Phone(&got, "f", "Phone", here), typed); got != want || msg != "" {
			t.Errorf("%q: %q, %q; want %q", typed, got, msg, want)
		}
		if msg := message(form.Phone(&got, "f", "Phone", here), got); got != want || msg != "" {
			t.Errorf("%q again: %q, %q", want, got, msg)
		}
	}
	for _, typed := range []string{
		"0000000000", "0412 345 67", "0412 345 6789", "9876 5432", "+61 412 345", "+44 20 7946", "12345", "1234567890123456",
		"0412 345 678 ext 5", "0412 345 678x5", "1800 FLOWERS", "call me", "61+2 9999 9999", "٠٤١٢٣٤٥٦٧٨", "------",
	} {
		var got string
		if msg := message(form.Phone(&got, "f", "Phone", here), typed); msg != wrongHere || got != typed {
			t.Errorf("%q: %q, %q", typed, got, msg)
		}
	}
	for typed, want := range map[string]string{"+44 2079460958": "+44 20 7946 0958", "+61412345678": "+61 412 345 678",
		"0412 345 678": "", "020 7946 0958": ""} {
		var got string
		msg := message(form.Phone(&got, "f", "Phone", abroad), typed)
		if want == "" && (msg != wrongAbroad || got != typed) || want != "" && (msg != "" || got != want) {
			t.Errorf("%q abroad: %q, %q; want %q", typed, got, msg, want)
		}
	}
}

// TestPhonePattern checks that the schema's pattern is true of the usual spacing of each
// country's numbers.
func TestPhonePattern(t *testing.T) {
	t.Parallel()
	f := form.Phone(new(string), "f", "Phone", here)
	pattern := regexp.MustCompile(f.Value.Schema().Pattern)
	for region := range phonenumbers.GetSupportedRegions() {
		for _, kind := range []phonenumbers.PhoneNumberType{phonenumbers.MOBILE, phonenumbers.FIXED_LINE} {
			number := phonenumbers.GetExampleNumberForType(region, kind)
			if number == nil {
				continue
			}
			typed, got := phonenumbers.Format(number, phonenumbers.E164), ""
			if msg := message(form.Phone(&got, "f", "Phone", here), typed); msg != "" || !pattern.MatchString(got) || len(got) > 30 ||
				got == typed {
				t.Errorf("%s: %q is kept as %q, %q", region, typed, got, msg)
			}
		}
	}
}

func TestPostcode(t *testing.T) {
	t.Parallel()
	const wrong = "Postcode must be 4 digits. If you live abroad, choose your country"
	for typed, want := range map[string]string{
		"2204": "", " 0800 ": "", "２２０４": "", "220": wrong, "22044": wrong, "22O4": wrong, "٢٢٠٤": wrong, "2 04": wrong,
		"SW1A 1AA": wrong, "": "Enter postcode",
	} {
		var got string
		if msg := message(form.Postcode(&got, "f", "Postcode", here), typed); msg != want {
			t.Errorf("%q: %q, want %q", typed, msg, want)
		}
	}
	for typed, want := range map[string]string{"SW1A 1AA": "", "６０１１": "", "": "", strings.Repeat("1", 20): "",
		strings.Repeat("1", 21): "Postcode must be 20 characters or fewer"} {
		var got string
		if msg := message(form.Postcode(&got, "f", "Postcode", abroad), typed); msg != want {
			t.Errorf("%q abroad: %q, want %q", typed, msg, want)
		}
	}
}

func TestChoiceAndCheckbox(t *testing.T) {
	t.Parallel()
	options := []form.Option{{Code: "sole", Label: "Sole owner"}, {Code: "joint", Label: "Joint owners"}}
	for typed, want := range map[string]string{
		"sole": "", " joint ": "", "": "Select ownership", "Sole owner": "Ownership must be one of the options shown",
		"SOLE": "Ownership must be one of the options shown", "x\x00": "Ownership must be one of the options shown",
	} {
		var got string
		if msg := message(form.Choice(&got, "f", "Ownership", options), typed); msg != want {
			t.Errorf("%q: %q, want %q", typed, msg, want)
		}
	}
	for typed, want := range map[string]bool{"on": true, "true": true, "1": true, "yes": true, "": false, "false": false,
		"off": false, "0": false, "No": false} {
		var got bool
		msg := message(form.Checkbox(&got, "f", "Agreed"), typed)
		if got != want || (msg == "") != want {
			t.Errorf("%q: %t, %q; want %t", typed, got, msg, want)
		}
	}
}

func TestDisplay(t *testing.T) {
	t.Parallel()
	type answers struct {
		text, code string
		tick       bool
		amount     form.Cents
		share      int
		born       time.Time
		signed     time.Time
	}
	options := []form.Option{{Code: "NSW", Label: "New South Wales"}}
	shown := func(a *answers) string {
		total := func() form.Cents { return -a.amount }
		s := section(form.Text(&a.text, "t", "T"), form.Choice(&a.code, "c", "C", options), form.Checkbox(&a.tick, "b", "B"),
			form.Money(&a.amount, "m", "M", form.Once), form.Percent(&a.share, "p", "P"), form.PastDate(&a.born, "d", "D", time.Time{}),
			form.Total(total, "o", "O", form.Once), form.Instant(&a.signed, "i", "I"))
		var out []string
		s.Walk(func(_ string, f form.Field) { out = append(out, f.Value.Display()) })
		return strings.Join(out, "|")
	}
	full := answers{"Ann", "NSW", true, 123_450, 50, time.Date(1985, 3, 7, 0, 0, 0, 0, time.UTC),
		time.Date(2026, 11, 20, 3, 4, 5, 0, time.UTC)}
	if got, want := shown(&full),
		"Ann|New South Wales|Yes|$1,234.50|50%|7 March 1985|−$1,234.50|20 November 2026, 03:04 UTC"; got != want {
		t.Errorf("answers are shown as %q, want %q", got, want)
	}
	if got, want := shown(&answers{}), "|||$0.00|0%||$0.00|"; got != want {
		t.Errorf("no answers are shown as %q, want %q", got, want)
	}
}

// TestTypedZero stores an amount that was typed as 0 differently from one that
// wasn't typed. Both are the number 0.
func TestTypedZero(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]struct{ stored, input string }{
		"": {`{"m":0}`, ""}, "0": {`{"m":0.00}`, "0"}, "$0.00": {`{"m":0.00}`, "0"}, "5": {`{"m":5}`, "5"},
	} {
		var amount, again form.Cents
		s := section(form.Money(&amount, "m", "M", form.Once))
		s.Read(url.Values{"m": {typed}})
		stored, err := s.MarshalJSON()
		if err != nil || string(stored) != want.stored {
			t.Errorf("%q is stored as %s, %v; want %s", typed, stored, err, want.stored)
		}
		back := section(form.Money(&again, "m", "M", form.Once))
		if err := back.UnmarshalJSON(stored); err != nil || again != amount || back.Inputs().Get("m") != want.input {
			t.Errorf("%q comes back as %v, %q, %v; want %q", typed, again, back.Inputs().Get("m"), err, want.input)
		}
	}
}

// A character that no document can show is refused when it is typed, by each kind of text
// (D80).
func TestUnprintableIsRefused(t *testing.T) {
	t.Parallel()
	for typed, odd := range map[string]string{ // empty: none is odd
		"王小明": "", "Nguyễn Thị": "", "Łukasz": "", "Ωmega": "", "עברית": "", "محمد‌علی": "", "Ann 🦊 Lee 😀": "🦊", "😀": "😀", "सीता": "स",
		"Ann\ue000": "\ue000",
	} {
		var text string
		want := ""
		if odd != "" {
			want = "Full name has a character we can’t print: " + odd + ". Use English letters"
		}
		for _, f := range []form.Field{form.Text(&text, "f", "Full name"), form.LongText(&text, "f", "Full name")} {
			if got := message(f, typed); got != want {
				t.Errorf("%q: %q, want %q", typed, got, want)
			}
		}
	}
	for _, f := range []form.Field{form.Email(new(string), "f", "Email")} {
		if message(f, "🦊") == "" {
			t.Error("a fox is an address")
		}
	}
}

func TestHiddenCharactersAreDropped(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"Ann\u200b Lee\ufeff":                  "Ann Lee",
		"\u202aAnn\u202c \u2066Lee\u2069":      "Ann Lee",
		"\u061cAnn\u180e\u200e\u200f Lee":      "Ann Lee",
		"photo\u202egnp.exe":                   "photognp.exe",
		"A\u2060n\u2064n\u206f":                "Ann",
		"e\u200b\u0301":                        "é",
		"\u0645\u06cc\u200c\u062e\u0648\u0627": "\u0645\u06cc\u200c\u062e\u0648\u0627", // Persian, with a non-joiner
		"\u0915\u094d\u200d\u0937":             "\u0915\u094d\u200d\u0937",             // Hindi, with a joiner
		"\u200c\u200d":                         "",
		" \u200d \u200b ":                      "",
		"Ann \u200d":                           "Ann",
	} {
		if got, message := form.CleanText(typed, 100); got != want || message != "" {
			t.Errorf("%+q becomes %+q, %q; want %+q", typed, got, message, want)
		}
	}
	if got, message := form.CleanText("a\u200b\tb", 100); message == "" {
		t.Errorf("a control character among hidden ones is taken: %q", got)
	}
}

// An amount in another period is converted once, halves away from zero (D53).
func TestPeriods(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		own    form.Period
		typed  url.Values
		want   form.Cents
		stored string
	}{
		{form.Yearly, values("f=100"), 100_00, `{"f":100}`},
		{form.Yearly, values("f=100", "f.period=year"), 100_00, `{"f":100}`},
		{form.Yearly, values("f=2,240", "f.period=fortnight"), 58_240_00,
			`{"f":58240,"entered":{"f":{"amount":2240,"period":"fortnight"}}}`},
		{form.Yearly, values("f=1", "f.period=week"), 52_00, `{"f":52,"entered":{"f":{"amount":1,"period":"week"}}}`},
		{form.Yearly, values("f=1", "f.period=quarter"), 4_00, `{"f":4,"entered":{"f":{"amount":1,"period":"quarter"}}}`},
		{form.Monthly, values("f=0.01", "f.period=week"), 4, `{"f":0.04,"entered":{"f":{"amount":0.01,"period":"week"}}}`}, // 4.33
		{form.Monthly, values("f=0.06", "f.period=year"), 1, `{"f":0.01,"entered":{"f":{"amount":0.06,"period":"year"}}}`}, // 0.5
		{form.Monthly, values("f=$1,200 per week"), 5_200_00, `{"f":5200,"entered":{"f":{"amount":1200,"period":"week"}}}`},
		{form.Monthly, values("f=300 p.w.", "f.period=year"), 1_300_00, `{"f":1300,"entered":{"f":{"amount":300,"period":"week"}}}`},
		{form.Yearly, values("f=2.5k a month", "f.period=week"), 30_000_00,
			`{"f":30000,"entered":{"f":{"amount":2500,"period":"month"}}}`},
		{form.Monthly, values("f=A$ 12/month"), 12_00, `{"f":12}`},
		{form.Monthly, values("f=12 pcm"), 12_00, `{"f":12}`},
		{form.Monthly, values("f=0", "f.period=week"), 0, `{"f":0.00,"entered":{"f":{"amount":0,"period":"week"}}}`},
		{form.Monthly, values("f=", "f.period=week"), 0, `{"f":0}`},
		// Two amounts, each a third of a cent a month: together one.
		{form.Monthly, values("f=0.04", "f.period=year", "f.2=0.08", "f.2.period=year"), 1,
			`{"f":0.01,"entered":{"f":[{"amount":0.04,"period":"year"},{"amount":0.08,"period":"year"}]}}`},
		{form.Yearly, values("f=1000", "f.period=week", "f.3=500", "f.3.period=month"), 58_000_00,
			`{"f":58000,"entered":{"f":[{"amount":1000,"period":"week"},{"amount":500,"period":"month"}]}}`},
	} {
		var amount, again form.Cents
		s, back := section(form.Money(&amount, "f", "F", tt.own)), section(form.Money(&again, "f", "F", tt.own))
		errs := s.Decode(tt.typed)
		stored, err := s.Stored()
		if len(errs) > 0 || amount != tt.want || err != nil || string(stored) != tt.stored {
			t.Errorf("%v: %v, %v, stored %s, %v; want %v, %s", tt.typed, errs, amount, stored, err, tt.want, tt.stored)
		}
		// Stored and read, then posted again as shown: nothing changes.
		if err := back.UnmarshalJSON(stored); err != nil {
			t.Fatal(err)
		}
		if errs := back.Decode(back.Inputs()); len(errs) > 0 || again != amount {
			t.Errorf("%v comes back as %v, %v", tt.typed, again, errs)
		}
		if same, _ := back.Stored(); string(same) != tt.stored {
			t.Errorf("%v is stored a second time as %s, want %s", tt.typed, same, tt.stored)
		}
	}
}

func TestPeriodsThatCanNotBeRead(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		typed   url.Values
		message string
	}{
		{values("f=5", "f.period=decade"), "Pay must be an amount a week, fortnight, month, quarter or year"},
		{values("f=5 a decade"), notAnAmount},
		{values("f=999,999,999,999", "f.period=week"), tooMuch + " a month"},
		{values("f=999,999,999,999", "f.2=999,999,999,999"), tooMuch + " a month"},
		{values("f=5", "f.2=x"), notAnAmount},
	} {
		amount := form.Cents(1)
		s := section(form.Money(&amount, "f", "Pay", form.Monthly))
		if got := s.Decode(tt.typed).For("f"); got != tt.message || amount != 0 {
			t.Errorf("%v: %q, %v; want %q", tt.typed, got, amount, tt.message)
		}
	}
}

// An amount that doesn't recur is one amount: what else is sent is ignored.
func TestOneAmount(t *testing.T) {
	t.Parallel()
	var amount form.Cents
	s := section(form.Money(&amount, "f", "F", form.Once))
	errs := s.Decode(values("f=5", "f.2=7", "f.3=x"))
	if inputs := s.Inputs(); len(errs) > 0 || amount != 5_00 || len(inputs) != 1 || inputs.Get("f") != "5" {
		t.Errorf("%v, %v, shown as %v", errs, amount, inputs)
	}
}

func TestAddAmount(t *testing.T) {
	t.Parallel()
	var amount form.Cents
	s := section(form.Money(&amount, "f", "F", form.Yearly).Sums("Add another"), form.Money(new(form.Cents), "g", "G", form.Yearly))
	s.Read(values("f=5", "f.period=week"))
	input, added := s.AddAmount("f")
	if got := s.Inputs(); !added || input != "f.2" || !got.Has("f.2") || got.Get("f.period") != "week" || amount != 260_00 {
		t.Errorf("added %v as %q: %v, %v", added, input, got, amount)
	}
	for range 20 {
		s.AddAmount("f")
	}
	if _, added := s.AddAmount("f"); added {
		t.Error("a field takes any number of amounts")
	}
	typed := values("f=1")
	for i := 2; i <= 13; i++ {
		typed.Set("f."+strconv.Itoa(i), "1")
	}
	msg := s.Decode(typed).For("f")
	if got := s.Inputs().Get("f.13"); msg != "F must have at most 12 amounts" || got != "1" || amount != 0 {
		t.Errorf("13 amounts make %v: %q, the last is kept as %q", amount, msg, got)
	}
	typed.Del("f.7")
	if errs := s.Decode(typed); len(errs) > 0 || amount != 12_00 {
		t.Errorf("12 amounts and a gap make %v: %v", amount, errs)
	}
	if _, added := s.AddAmount("g"); added {
		t.Error("a field that isn't made for several amounts takes them")
	}
}
