package domain_test

import (
	"testing"

	"candor/internal/domain"
)

// The numbers that check are of the Australian Business Register's own
// description and of large companies.
func TestParseABN(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"51 824 753 556": "51 824 753 556", "51824753556": "51 824 753 556", " 33 051 775 556 ": "33 051 775 556",
		"53004085616":    "53 004 085 616",
		"51 824 753 557": "", "15 824 753 556": "", "5182475355": "", "518247535566": "", "ABN 51 824 753 556": "", "5182475355x": "",
		"": "", "00 000 000 000": "",
		"01 824 753 556": "", "５１824753556": "",
	} {
		if got, ok := domain.ParseABN(text); got != want || ok != (want != "") {
			t.Errorf("ParseABN(%q) = %q, %t; want %q", text, got, ok, want)
		}
	}
}
