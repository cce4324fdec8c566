package form

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Wording is an error's message in its parts, so that it can be translated.
type Wording struct {
	Text   string // "Enter {label}", "{label} must be $0 or more", "Enter your postcode"
	Label  string // replaces {label}: a field's label or a list's title
	Value  string // replaces {value}: what the customer can have meant, or the character that is refused
	Item   string // an item of the list, "vehicle"; "" outside lists
	Number int    // the item's, from 1
	Name   string // what the item is called, for its owner only; "" for its number
}

const (
	labelPlace = "{label}"
	valuePlace = "{value}"
	// ItemText is the message for an error in a list's item.
	ItemText = "{item} {number}: {problem}"
	// NamedText is the message for an error in an item that has a name.
	NamedText = "{name}: {problem}"
)

// Say returns the message; translate translates each of its texts.
func (w Wording) Say(translate func(string) string) string {
	message := strings.Replace(translate(w.Text), valuePlace, w.Value, 1)
	if strings.Contains(message, labelPlace) {
		label := translate(w.Label)
		if !strings.HasPrefix(message, labelPlace) {
			label = InSentence(label)
		}
		message = strings.Replace(message, labelPlace, label, 1)
	}
	if w.Item == "" {
		return message
	}
	if w.Name != "" {
		return strings.NewReplacer("{name}", w.Name, "{problem}", InSentence(message)).Replace(translate(NamedText))
	}
	return strings.NewReplacer(
		"{item}", upperFirst(translate(w.Item)), "{number}", strconv.Itoa(w.Number), "{problem}", InSentence(message),
	).Replace(translate(ItemText))
}

// repeated finds what stands for {value} in an English message, with the words before it.
var repeated = regexp.MustCompile(`(can’t print): .(\. Use)|\. Did you mean [0-9]+\?`)

// Untyped returns an English message without what it repeats of what was typed, which is
// told to who typed it only.
func Untyped(message string) string { return repeated.ReplaceAllString(message, "$1$2") }

func english(text string) string { return text }

func newError(field string, w Wording) Error {
	return Error{Field: field, Message: w.Say(english), Wording: w}
}

// Place is a {name} in a text.
var Place = regexp.MustCompile(`\{[a-z]+\}`)

// Fill replaces the {names} of the English text in its translation by the arguments, in their
// order in the English text.
func Fill(text, translated string, args []string) string {
	if len(args) == 0 {
		return translated
	}
	var pairs []string
	for i, name := range Place.FindAllString(text, len(args)) {
		pairs = append(pairs, name, args[i])
	}
	return strings.NewReplacer(pairs...).Replace(translated)
}

// InSentence returns a label as it stands inside a sentence. A label that starts with an
// abbreviation doesn't change.
func InSentence(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	if second, _ := utf8.DecodeRuneInString(s[size:]); size == 0 || unicode.IsUpper(second) {
		return s
	}
	return string(unicode.ToLower(first)) + s[size:]
}

func upperFirst(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	if size == 0 {
		return s
	}
	return string(unicode.ToUpper(first)) + s[size:]
}
