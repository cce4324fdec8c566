// Package ui holds the components that the customer's form and the dashboard
// share: error summaries, banners, tags, the partner's logo and colours.
package ui

import "candor/internal/domain"

// LogoPrefix is the path below which partners' logos are, by their names.
const LogoPrefix = "/logo/"

// A Picture is an image and the room that it takes on a page.
type Picture struct {
	URL           string
	Width, Height int // CSS pixels
}

// Logo is the account's logo on a page, nil for none: at half its pixels, so
// that it is sharp on any screen, or at all of them where it has few.
func Logo(a *domain.Account) *Picture {
	if a.LogoName == nil || a.LogoWidth == nil || a.LogoHeight == nil {
		return nil
	}
	const width, height = domain.MaxLogoWidth / 2, domain.MaxLogoHeight / 2
	w, h := *a.LogoWidth, *a.LogoHeight
	if w > width {
		w, h = width, h*width/w
	}
	if h > height {
		w, h = w*height/h, height
	}
	return &Picture{URL: LogoPrefix + *a.LogoName, Width: max(1, w), Height: max(1, h)}
}
