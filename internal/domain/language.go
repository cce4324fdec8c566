package domain

import "slices"

// Language is a language of the customer's form, as a BCP 47 tag.
type Language string

// The languages of the form. English is always offered, and answers are
// stored, signed and sent in English.
const (
	English           Language = "en-AU"
	SimplifiedChinese Language = "zh-Hans"
	Vietnamese        Language = "vi"
)

// Languages are all languages of the form, English first.
var Languages = [...]Language{English, SimplifiedChinese, Vietnamese}

// Enum lists the languages.
func (Language) Enum() []string { return texts(Languages[:]) }

// Name is the language's own name.
func (l Language) Name() string {
	switch l {
	case SimplifiedChinese:
		return "简体中文"
	case Vietnamese:
		return "Tiếng Việt"
	}
	return "English"
}

// EnglishName is the language's English name.
func (l Language) EnglishName() string {
	switch l {
	case SimplifiedChinese:
		return "Chinese (Simplified)"
	case Vietnamese:
		return "Vietnamese"
	}
	return "English"
}

// Languages returns the languages of the account's forms, English first.
func (a *Account) Languages() []Language {
	var out []Language
	for _, l := range Languages {
		if l == English || slices.Contains(a.FormLanguages, l) {
			out = append(out, l)
		}
	}
	return out
}
