package views

import (
	"strconv"
	"strings"

	"candor/form"
)

// itemName is what the page calls item i of a list: "Bank account 2".
func itemName(l *form.List, i int) string {
	return upper(l.Singular) + " " + strconv.Itoa(i+1)
}

// article is the indefinite article of a noun.
func article(noun string) string {
	if noun != "" && strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an"
	}
	return "a"
}

// upper and lower change the first letter alone.
func upper(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func lower(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}
