package dashboard

import (
	"fmt"
	"strings"
	"testing"

	"github.com/boombuler/barcode/qr"
)

// TestQR draws the path again and compares it with the code.
func TestQR(t *testing.T) {
	t.Parallel()
	const text = "otpauth://totp/Candor:sam@lender.example?secret=ABCDEFGHIJKLMNOPQRSTUVWXYZ234567&issuer=Candor"
	got, err := newQR(text)
	if err != nil {
		t.Fatal(err)
	}
	want, err := qr.Encode(text, qr.M, qr.Auto)
	if err != nil {
		t.Fatal(err)
	}
	width := want.Bounds().Dx()
	if got.size != width+8 {
		t.Fatalf("size %d, want %d and a quiet zone of 4 on each side", got.size, width)
	}
	drawn := map[[2]int]bool{}
	for run := range strings.SplitSeq(strings.TrimSuffix(got.path, "z"), "z") {
		var x, y, n, back int
		if _, err := fmt.Sscanf(run, "M%d %dh%dv1h-%d", &x, &y, &n, &back); err != nil || n != back {
			t.Fatalf("run %q: %v", run, err)
		}
		for i := range n {
			drawn[[2]int{x + i, y}] = true
		}
	}
	for y := range got.size {
		for x := range got.size {
			dark := false
			if x >= 4 && y >= 4 && x < width+4 && y < width+4 {
				r, _, _, _ := want.At(x-4, y-4).RGBA()
				dark = r == 0
			}
			if drawn[[2]int{x, y}] != dark {
				t.Fatalf("module %d, %d: dark %t, want %t", x, y, drawn[[2]int{x, y}], dark)
			}
		}
	}
	if _, err := newQR(strings.Repeat("long", 2000)); err == nil {
		t.Error("a text of 8000 characters became a QR code")
	}
}
