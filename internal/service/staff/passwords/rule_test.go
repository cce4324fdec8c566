package passwords_test

import (
	"strings"
	"testing"

	"candor/internal/form"
	"candor/internal/service/staff/passwords"
	view "candor/views/dashboard"
)

func TestPasswordRule(t *testing.T) {
	t.Parallel()
	names := []string{"Sam O’Taylor", "Harbour Lending Pty", "sam.taylor@harbour-lending.example"}
	for password, want := range map[string]string{
		"":                                   "Enter a password",
		"short pw9":                          "at least 10",
		strings.Repeat("é", 9):               "at least 10",
		strings.Repeat("x", 1025):            "at most 1024",
		"qwertyuiop":                         "too common",
		"QwertyUIOP":                         "too common",
		"Password2026!!":                     "too common",
		"samotaylor":                         "your name",
		"Sam O’Taylor 1!":                    "your name",
		"sam.taylor@harbour-lending.example": "your name",
		"harbour-lending":                    "your name",
		"Harbour Lending Pty":                "your name",
		"correct horse battery":              "",
		strings.Repeat("é", 10):              "",
		"all lower case":                     "",
		"harbour-lending is my work":         "",
		strings.Repeat("long ", 200):         "",
	} {
		got := view.Words.Say(form.Error{Rule: passwords.Broken(password, names...)})
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%.40q: %q, want %q", password, got, want)
		}
	}
}

func TestCommonPasswords(t *testing.T) {
	t.Parallel()
	list := passwords.CommonPasswords()
	if len(list) < 10_000 {
		t.Errorf("the list has %d passwords, want the 10,000 commonest", len(list))
	}
	for password := range list {
		if password != strings.ToLower(password) || password == "" {
			t.Errorf("%q is never found: passwords are compared in lower case", password)
		}
	}
}
