package pdf

import (
	"os"
	"path/filepath"
)

// installed are the places of TrueType fonts that have Chinese. Noto Sans CJK
// isn't among them: fpdf can embed neither collections nor CFF outlines.
var installed = []string{
	"usr/share/fonts-droid-fallback/truetype/DroidSansFallback.ttf", // Debian
	"usr/share/fonts/truetype/droid/DroidSansFallbackFull.ttf",
	"usr/share/fonts/google-droid-sans-fonts/DroidSansFallbackFull.ttf", // Fedora
	"usr/share/fonts/droid/DroidSansFallbackFull.ttf",                   // Arch
	"usr/share/fonts/droid-nonlatin/DroidSansFallback*.ttf",             // Alpine
	"System/Library/Fonts/Supplemental/Arial Unicode.ttf",               // macOS
	"Library/Fonts/Arial Unicode.ttf",
}

// InstalledFont returns the path of an installed font that has Chinese and that
// LoadFonts takes, "" if there is none.
func InstalledFont() string { return installedFont("/", '中') }

func installedFont(root string, has rune) string {
	for _, place := range installed {
		found, _ := filepath.Glob(filepath.Join(root, place))
		for _, path := range found {
			ttf, err := os.ReadFile(path)
			if err != nil {
				continue
			}
			font := newFace("Fallback", "", ttf)
			if _, ok := font.advance(has); ok && font.check() == nil {
				return path
			}
		}
	}
	return ""
}
