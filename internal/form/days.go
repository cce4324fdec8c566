package form

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// ParseDays reads days as staff name them: "2026-11-23", "23/11/2026", "23 Nov", "Nov 2026",
// "yesterday", "Monday", "last week", "last 7 days", "3 days ago". It returns the first and the
// last of them, at midnight UTC; false if it doesn't understand. What lacks a year is the
// latest that has begun by today. Weeks begin on Monday.
func ParseDays(text string, today time.Time) (first, last time.Time, ok bool) {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i, word := range words {
		words[i] = ordinal.ReplaceAllString(word, "$1")
	}
	switch len(words) {
	case 1:
		if words[0] == "today" {
			return today, today, true
		}
		if words[0] == "yesterday" {
			yesterday := today.AddDate(0, 0, -1)
			return yesterday, yesterday, true
		}
		for back := range 7 {
			if day := today.AddDate(0, 0, -back); isWeekday(words[0], day.Weekday()) {
				return day, day, true
			}
		}
		if month, known := parseMonth(words[0]); known && unicode.IsLetter([]rune(words[0])[0]) {
			first, ok = latest(month, 1, today)
			return first, first.AddDate(0, 1, -1), ok
		}
	case 2:
		if words[0] == "this" || words[0] == "last" {
			return calendarSpan(words[1], words[0] == "last", today)
		}
		return dayOrMonth(words, today)
	case 3:
		if days, known := countedDays(words); known {
			if words[0] == "last" {
				return today.AddDate(0, 0, 1-days), today, true
			}
			day := today.AddDate(0, 0, -days)
			return day, day, true
		}
		first, ok = wholeDate(strings.Join(words, " "), today)
		return first, first, ok
	}
	return first, last, false
}

// isWeekday reports whether the word is the weekday or its first three letters.
func isWeekday(word string, day time.Weekday) bool {
	name := strings.ToLower(day.String())
	return word == name || word == name[:3]
}

// calendarSpan is the week, month or year of today, or the one before.
func calendarSpan(unit string, before bool, today time.Time) (first, last time.Time, ok bool) {
	back := 0
	if before {
		back = 1
	}
	switch unit {
	case "week":
		first = today.AddDate(0, 0, -(int(today.Weekday())+6)%7-7*back)
		return first, first.AddDate(0, 0, 6), true
	case "month":
		first = time.Date(today.Year(), today.Month()-time.Month(back), 1, 0, 0, 0, 0, time.UTC)
		return first, first.AddDate(0, 1, -1), true
	case "year":
		first = time.Date(today.Year()-back, time.January, 1, 0, 0, 0, 0, time.UTC)
		return first, first.AddDate(1, 0, -1), true
	}
	return first, last, false
}

// countedDays is n of "last n days" and "n days ago".
func countedDays(words []string) (int, bool) {
	const most = 10_000
	i := slices.IndexFunc(words, func(w string) bool { return w == "day" || w == "days" || w == "week" || w == "weeks" })
	if i < 1 || words[0] != "last" && words[2] != "ago" {
		return 0, false
	}
	n, err := strconv.Atoi(words[i-1])
	if strings.HasPrefix(words[i], "week") {
		n *= 7
	}
	return n, err == nil && n > 0 && n <= most
}

// dayOrMonth reads a day without its year, or a month with it.
func dayOrMonth(words []string, today time.Time) (first, last time.Time, ok bool) {
	other, name := words[0], words[1]
	if unicode.IsLetter([]rune(other)[0]) { // Nov 23
		other, name = name, other
	}
	month, known := parseMonth(name)
	n, err := strconv.Atoi(other)
	switch {
	case !known || err != nil:
		return first, last, false
	case len(other) == 4:
		first = time.Date(n, month, 1, 0, 0, 0, 0, time.UTC)
		return first, first.AddDate(0, 1, -1), true
	}
	first, ok = latest(month, n, today)
	return first, first, ok
}

// latest is the latest such day that isn't after today. 29 February is years ago.
func latest(month time.Month, day int, today time.Time) (time.Time, bool) {
	const leap = 8
	for year := today.Year(); year > today.Year()-leap; year-- {
		if d := time.Date(year, month, day, 0, 0, 0, 0, time.UTC); d.Day() == day && d.Month() == month && !d.After(today) {
			return d, true
		}
	}
	return time.Time{}, false
}

// wholeDate reads a date as the form's date fields do if it is pasted into one of them.
func wholeDate(text string, today time.Time) (time.Time, bool) {
	const ahead = 100 // years
	v := date{p: new(time.Time), day: text, latest: today.AddDate(ahead, 0, 0)}
	v.split()
	d, message := v.parse()
	return d, message == ""
}
