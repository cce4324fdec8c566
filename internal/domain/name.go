package domain

import (
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"

	"candor/internal/form"
)

// MaxName is the longest name of a person, a company or a thing, in characters.
const MaxName = 200

// Names stand in emails to third parties, so they hold nothing that a mail program may make a
// link of: an address, or a host below an ending that one can register at.
var (
	link = regexp.MustCompile(
		`(?i)://|\bwww\.|\b[\p{L}\p{N}-]+\.[\p{L}]{2,}(/|:\d|\?|#)|[\p{L}\p{N}]\.(com|net|org|io|co|info|biz|app|dev|xyz|site|online|shop|top|link|me|ly|au|nz|uk|us|ru|cn)\b`)
	host     = regexp.MustCompile(`([\p{L}\p{N}-]+\.)+[\p{L}\p{N}-]*[\p{L}\p{N}]`)
	initials = regexp.MustCompile(`^(st|\p{L}(\.\p{L})*)$`) // as in J.Kim and St.George, though both are endings

	legalForms = []string{"co.kg", "co.ltd", "pte.ltd", "pty.ltd", "pvt.ltd"} // though kg and ltd are endings
)

func holdsLink(text string) bool {
	return link.MatchString(text) || slices.ContainsFunc(host.FindAllString(strings.ToLower(text), -1), func(found string) bool {
		dot := strings.LastIndexByte(found, '.')
		ending, err := idna.ToASCII(found[dot+1:])
		_, known := publicsuffix.PublicSuffix("a." + ending) // the list has *.ck, and no ck
		return err == nil && known && !initials.MatchString(found[:dot]) && !slices.Contains(legalForms, found)
	})
}

// CleanWords returns a line of plain text for third parties as it is kept, and the rule
// that it breaks, zero for none: it must hold no link.
func CleanWords(text string, limit int) (words string, broken form.Rule) {
	words, broken = form.CleanLine(text, limit)
	if broken == (form.Rule{}) && holdsLink(words) {
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
	case holdsLink(name):
		broken = form.Rule{Code: form.RuleNoLink}
	default:
		return name, form.Rule{}
	}
	broken.Of = of
	return name, broken
}
