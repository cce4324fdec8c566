package ui

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// BrandPrefix is the path below which the style sheets of partners' colours
// are.
const BrandPrefix = "/brand/"

// BrandURL is the path of the style sheet of a colour, six hex digits. Its
// content follows from its name, so that it can be kept for good.
func BrandURL(colour string) string { return BrandPrefix + colour + ".css" }

// contrast is what text needs at least (WCAG 2.2, 1.4.3), with a little room.
const contrast = 4.6

// The pages' surfaces, the darker of the light ones and the lighter of the
// dark ones, as tokens.css has them.
var (
	lightCanvas = rgb{0xf6, 0xf5, 0xf1}
	darkSurface = rgb{0x17, 0x1c, 0x1b}
	white       = rgb{255, 255, 255}
	black       = rgb{0, 0, 0}
)

// BrandSheet is the style sheet of a colour, six hex digits; false for
// anything else. The colour is darkened on light pages and lightened on dark
// ones until text in it can be read.
func BrandSheet(colour string) (string, bool) {
	own, ok := parseColour(colour)
	if !ok {
		return "", false
	}
	light, dark := own.until(lightCanvas, black), own.until(darkSurface, white)
	return fmt.Sprintf(":root{--brand:light-dark(%s,%s);--brand-ink:light-dark(%s,%s);--brand-soft:light-dark(%s,%s)}\n",
		light, dark, light.ink(), dark.ink(), light.mix(white, 0.89), dark.mix(darkSurface, 0.8)), true
}

// BrandOnPaper is a colour, six hex digits, darkened until text in it can be read on
// paper; false for anything else.
func BrandOnPaper(colour string) (r, g, b int, ok bool) {
	own, ok := parseColour(colour)
	if !ok {
		return 0, 0, 0, false
	}
	dark := own.until(white, black)
	return int(math.Round(dark[0])), int(math.Round(dark[1])), int(math.Round(dark[2])), true
}

// BrandHex is a colour as a browser's picker takes it: the typed one, or Candor's own.
func BrandHex(typed string) string {
	if own, ok := parseColour(strings.TrimPrefix(typed, "#")); ok {
		return own.String()
	}
	return "#0d5748"
}

// BrandWords says how a colour, six hex digits, can be read, and what is used for it.
func BrandWords(colour string) string {
	own, ok := parseColour(colour)
	if !ok {
		return "Forms have Candor’s colour."
	}
	light, dark := own.until(lightCanvas, black), own.until(darkSurface, white)
	words := fmt.Sprintf("%s has %s on white", own, ratio(own.against(white)))
	if light == own {
		words += ", and text needs 4.5:1."
	} else {
		words += fmt.Sprintf(". Text needs 4.5:1, so text and buttons use %s, %s.", light, ratio(light.against(white)))
	}
	return words + fmt.Sprintf(" On dark screens they use %s, %s.", dark, ratio(dark.against(darkSurface)))
}

// ratio writes a contrast ratio, never more than it is: 4.49 is 4.4:1.
func ratio(r float64) string { return fmt.Sprintf("%.1f:1", math.Floor(r*10)/10) }

func parseColour(colour string) (rgb, bool) {
	n, err := strconv.ParseUint(colour, 16, 32)
	if err != nil || len(colour) != 6 {
		return rgb{}, false
	}
	return rgb{float64(n >> 16), float64(n >> 8 & 0xff), float64(n & 0xff)}, true
}

// rgb is a colour, each part from 0 to 255.
type rgb [3]float64

// String writes the colour as CSS does.
func (c rgb) String() string {
	return fmt.Sprintf("#%02x%02x%02x", int(math.Round(c[0])), int(math.Round(c[1])), int(math.Round(c[2])))
}

// mix is the colour with that share of another.
func (c rgb) mix(other rgb, share float64) (out rgb) {
	for i := range c {
		out[i] = c[i]*(1-share) + other[i]*share
	}
	return out
}

// until mixes more and more of toward in until it contrasts with what is
// behind it.
func (c rgb) until(behind, toward rgb) rgb {
	for share := 0.0; share < 1; share += 0.02 {
		if mixed := c.mix(toward, share); mixed.against(behind) >= contrast {
			return mixed
		}
	}
	return toward
}

// ink is what is written on the colour.
func (c rgb) ink() rgb {
	if c.against(white) >= c.against(black) {
		return white
	}
	return black
}

// against is the contrast ratio of two colours, 1 to 21 (WCAG 2.2).
func (c rgb) against(other rgb) float64 {
	a, b := c.luminance(), other.luminance()
	return (max(a, b) + 0.05) / (min(a, b) + 0.05)
}

func (c rgb) luminance() float64 {
	linear := func(v float64) float64 {
		v /= 255
		if v <= 0.04045 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c[0]) + 0.7152*linear(c[1]) + 0.0722*linear(c[2])
}
