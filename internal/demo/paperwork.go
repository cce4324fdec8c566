package demo

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"math"
	"math/rand/v2"

	"github.com/go-pdf/fpdf"
	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gomedium"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// paper is a file that customers upload.
type paper struct {
	category, name, contentType string
	content                     []byte
}

// newPaperwork makes the files that all the customers share.
func newPaperwork() ([]paper, error) {
	r := rand.New(rand.NewPCG(7, 7))
	var out []paper
	for i, name := range []string{"IMG_2041.jpg", "driver licence.jpg", "licence front.jpeg", "photo.jpg", "IMG_0098.jpg"} {
		content, err := photo(r, 240+i*60)
		if err != nil {
			return nil, err
		}
		out = append(out, paper{"identification", name, "image/jpeg", content})
	}
	for _, p := range []struct{ category, name, title string }{
		{"income_evidence", "Payslip October.pdf", "Payslip"}, {"income_evidence", "payslip-2.pdf", "Payslip"},
		{"bank_statement", "Statement 30 Sep.pdf", "Account statement"},
		{"bank_statement", "CBA transactions.pdf", "Account statement"}, {"tax_return", "Notice of assessment.pdf",
			"Notice of assessment"},
	} {
		content, err := printed(r, p.title)
		if err != nil {
			return nil, err
		}
		out = append(out, paper{p.category, p.name, "application/pdf", content})
	}
	return out, nil
}

// photo is a blurred picture of a card on a table.
func photo(r *rand.Rand, height int) ([]byte, error) {
	width := height * 4 / 3
	picture := image.NewRGBA(image.Rect(0, 0, width, height))
	tint := uint8(60 + r.IntN(90))
	for y := range height {
		for x := range width {
			c := color.RGBA{150 + uint8(r.IntN(12)), 140 + uint8(r.IntN(12)), 125, 255}
			if x > width/8 && x < width*7/8 && y > height/6 && y < height*5/6 {
				grain := uint8(r.IntN(26))
				c = color.RGBA{tint + uint8(x*60/width) + grain, 150 + uint8(y*50/height) + grain, 190 + grain, 255}
			}
			picture.SetRGBA(x, y, c)
		}
	}
	var b bytes.Buffer
	err := jpeg.Encode(&b, picture, &jpeg.Options{Quality: 88})
	return b.Bytes(), err
}

// printed is a page that says what it would be.
func printed(r *rand.Rand, title string) ([]byte, error) {
	page := fpdf.New("P", "mm", "A4", "")
	page.SetTitle(title, true)
	page.AddPage()
	page.SetFont("Helvetica", "B", 20)
	page.Cell(0, 14, title+" (sample)")
	page.Ln(18)
	page.SetFont("Helvetica", "", 11)
	for i := range 6 + r.IntN(20) {
		page.Cell(120, 7, fmt.Sprintf("Line %d", i+1))
		page.CellFormat(40, 7, fmt.Sprintf("%d.%02d", 10+r.IntN(3000), r.IntN(100)), "", 1, "R", false, 0, "")
	}
	var b bytes.Buffer
	err := page.Output(&b)
	return b.Bytes(), err
}

// logo is the partner's: two waves under a light, and the name.
func logo() ([]byte, error) {
	const width, height = 720, 160
	ink := color.RGBA{0x12, 0x3b, 0x5d, 255}
	picture := image.NewRGBA(image.Rect(0, 0, width, height))
	draw.Draw(picture, picture.Bounds(), image.White, image.Point{}, draw.Src)
	for y := range height {
		for x := range height {
			fx, fy := float64(x), float64(y)
			light := math.Hypot(fx-80, fy-46) < 22
			wave := func(at float64) bool { return math.Abs(fy-at-9*math.Sin(fx/18)) < 7 && fx > 10 && fx < 150 }
			switch {
			case light:
				picture.SetRGBA(x, y, color.RGBA{0xe0, 0x8a, 0x2c, 255})
			case wave(98), wave(128):
				picture.SetRGBA(x, y, ink)
			}
		}
	}
	parsed, err := opentype.Parse(gomedium.TTF)
	if err != nil {
		return nil, err
	}
	face, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: 68, DPI: 72})
	if err != nil {
		return nil, err
	}
	drawer := font.Drawer{Dst: picture, Src: image.NewUniform(ink), Face: face, Dot: fixed.P(176, 104)}
	drawer.DrawString(partnerName)
	var b bytes.Buffer
	err = png.Encode(&b, picture)
	return b.Bytes(), err
}
