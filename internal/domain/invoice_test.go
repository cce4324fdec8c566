package domain_test

import (
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/statement"
)

// The tax that an amount includes is rounded to the cent, halves up.
func TestGSTIn(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		amount statement.Cents
		rate   int
		want   statement.Cents
	}{{0, 1000, 0}, {1100, 1000, 100}, {1000, 1000, 91}, {5, 1000, 0}, {6, 1000, 1}, {1000, 0, 0}, {1155, 1550, 155},
		{99_999_999_999_999, 1000, 9_090_909_090_909}} {
		if got := domain.GSTIn(test.amount, test.rate); got != test.want {
			t.Errorf("GST in %d at %d basis points: %d, want %d", test.amount, test.rate, got, test.want)
		}
	}
}

// An invoice is tried for the last time when its retries are used up. An extra
// attempt after that, such as after a new card, is the last one.
func TestLastAttemptAt(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 7, 15, 0, 12, 0, 0, time.UTC)
	for _, test := range []struct{ failures, early, days int }{{0, 0, 15}, {1, 0, 12}, {1, 1, 15}, {3, 0, 0}, {4, 0, 0}, {6, 1, 0}} {
		i := domain.Invoice{Failures: test.failures, EarlyFailures: test.early, NextAttemptAt: &at}
		if got, want := i.LastAttemptAt(), at.AddDate(0, 0, test.days); !got.Equal(want) {
			t.Errorf("after %d failures, %d of them early, the last attempt is at %s, want %s", test.failures, test.early, got, want)
		}
	}
}

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
