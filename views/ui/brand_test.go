package ui

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

var sheetColours = regexp.MustCompile(`#[0-9a-f]{6}`)

// Whatever colour a partner chooses, its text can be read on every page and
// what is written on it, too.
func TestBrandColoursCanBeRead(t *testing.T) {
	t.Parallel()
	for r := 0; r < 256; r += 51 {
		for g := 0; g < 256; g += 51 {
			for b := 0; b < 256; b += 51 {
				colour := fmt.Sprintf("%02x%02x%02x", r, g, b)
				sheet, ok := BrandSheet(colour)
				var parts []rgb
				for _, text := range sheetColours.FindAllString(sheet, -1) {
					var c [3]int
					if _, err := fmt.Sscanf(text, "#%02x%02x%02x", &c[0], &c[1], &c[2]); err != nil {
						t.Fatal(err)
					}
					parts = append(parts, rgb{float64(c[0]), float64(c[1]), float64(c[2])})
				}
				if !ok || len(parts) != 6 {
					t.Fatalf("%s: %q", colour, sheet)
				}
				light, dark, lightInk, darkInk, lightSoft, darkSoft := parts[0], parts[1], parts[2], parts[3], parts[4], parts[5]
				for what, ratio := range map[string]float64{
					"on a light page": light.against(lightCanvas), "on a dark page": dark.against(darkSurface),
					"ink, light": lightInk.against(light), "ink, dark": darkInk.against(dark),
				} {
					if ratio < 4.5 {
						t.Errorf("%s %s: contrast %.2f", colour, what, ratio)
					}
				}
				if light.against(lightSoft) < 3.9 || dark.against(darkSoft) < 3 {
					t.Errorf("%s on its soft tint: %.2f and %.2f", colour, light.against(lightSoft), dark.against(darkSoft))
				}
			}
		}
	}
}

func TestBrandSheetRefuses(t *testing.T) {
	t.Parallel()
	for _, colour := range []string{"", "12345", "1234567", "12345g", "+12345", "0x1234", `"}*{}`, strings.Repeat("f", 100)} {
		if sheet, ok := BrandSheet(colour); ok {
			t.Errorf("%q gives %s", colour, sheet)
		}
	}
}

// TestBrandWords: WCAG 2.2's relative luminance, never rounded up to a ratio that passes.
func TestBrandWords(t *testing.T) {
	t.Parallel()
	for colour, want := range map[string]string{
		"000000": "#000000 has 21.0:1 on white, and text needs 4.5:1.", "777777": "#777777 has 4.4:1 on white. Text needs 4.5:1,",
		"7fd4ff": "#7fd4ff has 1.6:1 on white. Text needs", "ffffff": "#ffffff has 1.0:1 on white. Text needs",
		"": "Forms have Candor’s colour.", "red": "Forms have Candor’s colour.",
	} {
		if got := BrandWords(colour); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", colour, got, want)
		}
	}
}
