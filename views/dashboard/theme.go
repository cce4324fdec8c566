package dashboard

import "context"

// A Theme is how a person wants the dashboard's colours.
type Theme string

// The themes.
const (
	ThemeSystem Theme = "" // as the device is set
	ThemeLight  Theme = "light"
	ThemeDark   Theme = "dark"
)

// Themes lists the themes.
var Themes = []Theme{ThemeSystem, ThemeLight, ThemeDark}

func (t Theme) word() string {
	switch t {
	case ThemeLight:
		return "Light"
	case ThemeDark:
		return "Dark"
	}
	return "System"
}

// schemes are the theme as a page's meta element names it.
func (t Theme) schemes() string {
	if t == ThemeSystem {
		return "light dark"
	}
	return string(t)
}

type themeKey struct{}

// WithTheme returns a context in which pages are drawn in the theme.
func WithTheme(ctx context.Context, t Theme) context.Context {
	return context.WithValue(ctx, themeKey{}, t)
}

type keysKey struct{}

// WithoutKeys returns a context in which pages don't act on single keys.
func WithoutKeys(ctx context.Context) context.Context { return context.WithValue(ctx, keysKey{}, true) }

func keysOff(ctx context.Context) bool { return ctx.Value(keysKey{}) != nil }

func themeIn(ctx context.Context) Theme {
	t, _ := ctx.Value(themeKey{}).(Theme)
	return t
}
