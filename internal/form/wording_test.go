package form_test

import (
	"testing"

	"candor/internal/form"
)

func TestSayInAnotherLanguage(t *testing.T) {
	t.Parallel()
	german := map[string]string{
		"Enter {label}": "{label} eingeben", "{label} must be $0 or more": "Unter 0 $ geht es nicht bei {label}", "Breed": "Rasse",
		"friend": "freund", form.ItemText: "{problem} ({item} {number})", "Take another": "Nimm einen anderen",
	}
	for _, tt := range []struct {
		wording form.Wording
		want    string
	}{
		{form.Wording{Text: "Enter {label}", Label: "Breed"}, "Rasse eingeben"},
		{form.Wording{Text: "{label} must be $0 or more", Label: "Breed"}, "Unter 0 $ geht es nicht bei rasse"},
		{form.Wording{Text: "Take another", Label: "Breed"}, "Nimm einen anderen"},
		{form.Wording{Text: "Enter {label}", Label: "Breed", Item: "friend", Number: 3}, "rasse eingeben (Freund 3)"},
	} {
		if got := tt.wording.Say(func(s string) string { return german[s] }); got != tt.want {
			t.Errorf("%+v says %q, want %q", tt.wording, got, tt.want)
		}
	}
}
