package dashboard

import (
	"fmt"
	"strings"

	"github.com/boombuler/barcode/qr"
)

// qrCode is a text as a QR code: its width in modules, with the quiet zone
// around it, and the dark ones as an SVG path.
type qrCode struct {
	size int
	path string
}

// quietZone is the light border of a QR code, in modules.
const quietZone = 4

// newQR returns the text as a QR code, or an error where it is too long.
func newQR(text string) (qrCode, error) {
	code, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		return qrCode{}, fmt.Errorf("dashboard: QR code: %w", err)
	}
	width := code.Bounds().Dx()
	dark := func(x, y int) bool {
		r, _, _, _ := code.At(x, y).RGBA()
		return r == 0
	}
	var path strings.Builder
	for y := range width {
		for x := 0; x < width; x++ {
			run := 0
			for x+run < width && dark(x+run, y) {
				run++
			}
			if run > 0 {
				fmt.Fprintf(&path, "M%d %dh%dv1h-%dz", x+quietZone, y+quietZone, run, run)
				x += run
			}
		}
	}
	return qrCode{width + 2*quietZone, path.String()}, nil
}

func (q qrCode) viewBox() string { return fmt.Sprintf("0 0 %d %d", q.size, q.size) }
