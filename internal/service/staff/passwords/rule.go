package passwords

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"candor/internal/form"
)

// minPassword is the least length of a password, in characters. There is no
// rule on what it is made of (ASVS 6.2).
const minPassword = 10

// commonPasswordsGzip are the 10,000 commonest passwords and the further
// common ones that are long enough, one a line; commonpasswords.LICENSE says
// where they are from.
//
//go:embed commonpasswords.txt.gz
var commonPasswordsGzip []byte

// commonPasswords unpacks the list, once. It is part of the program, so that it
// can be read is a matter of a test.
var commonPasswords = sync.OnceValue(func() map[string]bool {
	unpacked, err := gzip.NewReader(bytes.NewReader(commonPasswordsGzip))
	if err != nil {
		panic(err)
	}
	text, err := io.ReadAll(unpacked)
	if err != nil {
		panic(err)
	}
	out := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		out[strings.TrimSpace(line)] = true
	}
	return out
})

// Broken returns the rule that a password breaks, zero for none: it must not be
// too easily guessed. The names are the user's, the account's and the email
// address.
func Broken(password string, names ...string) form.Rule {
	switch n := utf8.RuneCountInString(password); {
	case password == "":
		return form.Rule{Code: "password"}
	case n < minPassword:
		return form.Rule{Code: "password_short", Min: minPassword}
	case len(password) > maxPassword:
		return form.Rule{Code: "password_long", Max: maxPassword}
	}
	plain := strings.ToLower(password)
	for _, one := range []string{plain, bare(plain)} {
		if commonPasswords()[one] {
			return form.Rule{Code: "password_common"}
		}
	}
	for _, name := range ownNames(names) {
		if Alphanumeric(plain) == name || Alphanumeric(bare(plain)) == name {
			return form.Rule{Code: "password_own"}
		}
	}
	return form.Rule{}
}

// bare is the password without the digits and signs that people add to a word
// when they are asked for some.
func bare(password string) string {
	return strings.TrimRightFunc(password, func(r rune) bool { return !unicode.IsLetter(r) })
}

// ownNames are the names as a password would have them; of an email address
// its parts, too.
func ownNames(names []string) []string {
	var out []string
	for _, name := range names {
		name = strings.ToLower(name)
		local, at, _ := strings.Cut(name, "@")
		host, _, _ := strings.Cut(at, ".")
		for _, one := range []string{name, local, at, host} {
			if one = Alphanumeric(one); one != "" {
				out = append(out, one)
			}
		}
	}
	return out
}

// Alphanumeric keeps the alphabetic characters and digits of s.
func Alphanumeric(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, s)
}
