package domain

import "regexp"

// MaxName is the longest name of a person, a company or a thing, in characters.
const MaxName = 200

// link is what a mail program may make a link of. Names stand in emails to
// third parties.
var link = regexp.MustCompile(`(?i)://|\bwww\.|\b[\p{L}\p{N}-]+\.[\p{L}]{2,}(/|:\d|\?|#)|[\p{L}\p{N}]\.(com|net|org|io|co|info|biz|app|dev|xyz|site|online|shop|top|link|me|ly|au|nz|uk|us|ru|cn)\b`)

// LinkProblem returns what is wrong with a name that holds a link, or "".
func LinkProblem(name string) string {
	if link.MatchString(name) {
		return "must not contain a web address"
	}
	return ""
}
