package pdf

import (
	"strings"
	"testing"
)

// The document's accent is the partner's colour, dark enough to be read. Figures are in ink:
// in a red accent good ones would look negative.
func TestRenderInThePartnersColour(t *testing.T) {
	t.Parallel()
	in := full()
	for brand, want := range map[string]string{"": "0.086 0.282 0.361 rg", "8a1538": "0.541 0.082 0.220 rg",
		"ffff00": "0.459 0.459 0.000 rg"} {
		in.Brand = brand
		page := poppler(t, render(t, in).Bytes, "qpdf", "--qdf", "--object-streams=disable", "FILE", "-")
		if !strings.Contains(page, want) || strings.Contains(page, "1.000 1.000 0.000 rg") {
			t.Errorf("brand %q: the accent %q isn't in the document", brand, want)
		}
		if n := strings.Count(page, " 13.50 Tf ET\nq 0.110 0.133 0.169 rg"); n != 9 {
			t.Errorf("brand %q: %d figures of 9 are in ink", brand, n)
		}
	}
}
