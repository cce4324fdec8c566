package domain

import (
	"regexp"

	"candor/internal/form"
)

// MaxName is the longest name of a person, a company or a thing, in characters.
const MaxName = 200

// link is what a mail program may make a link of. Names stand in emails to
// third parties.
var link = regexp.MustCompile(
	`(?i)://|\bwww\.|\b[\p{L}\p{N}-]+\.[\p{L}]{2,}(/|:\d|\?|#)|[\p{L}\p{N}]\.(com|net|org|io|co|info|biz|app|dev|xyz|site|online|shop|top|link|me|ly|au|nz|uk|us|ru|cn)\b`)

// CleanWords returns a line of plain text for third parties as it is kept, and the rule
// that it breaks, zero for none: it must hold no link.
func CleanWords(text string, limit int) (words string, broken form.Rule) {
	words, broken = form.CleanLine(text, limit)
	if broken == (form.Rule{}) && link.MatchString(words) {
		broken = form.Rule{Code: form.RuleNoLink}
	}
	return words, broken
}

// CleanName returns the name of a person, a company or a thing as it is kept, and
// the rule that it breaks, zero for none: it must be given, and must hold no link.
// of is what it names.
func CleanName(text string, missing form.Rule, of string) (name string, broken form.Rule) {
	name, broken = form.CleanLine(text, MaxName)
	switch {
	case broken != (form.Rule{}):
	case name == "":
		broken = missing
	case link.MatchString(name):
		broken = form.Rule{Code: form.RuleNoLink}
	default:
		return name, form.Rule{}
	}
	broken.Of = of
	return name, broken
}
