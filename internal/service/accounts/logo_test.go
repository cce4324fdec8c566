package accounts_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/testkit/servicetest"
	view "candor/views/dashboard"
)

// secretWords stand in files where no picture is; none may be kept.
const secretWords = "<script>alert(1)</script>"

func asPNG(w io.Writer, m image.Image) error  { return png.Encode(w, m) }
func asJPEG(w io.Writer, m image.Image) error { return jpeg.Encode(w, m, nil) }

func encoded(t *testing.T, encode func(io.Writer, image.Image) error, m image.Image) string {
	t.Helper()
	var b bytes.Buffer
	if err := encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// withText is a PNG with a comment in it.
func withText(file string) string {
	chunk := "tEXtComment\x00" + secretWords
	var head, sum [4]byte
	binary.BigEndian.PutUint32(head[:], uint32(len(chunk)-4))
	binary.BigEndian.PutUint32(sum[:], crc32.ChecksumIEEE([]byte(chunk)))
	return file[:33] + string(head[:]) + chunk + string(sum[:]) + file[33:]
}

// withComment is a JPEG with a comment in it.
func withComment(file string) string {
	return file[:2] + "\xff\xfe\x00" + string(rune(len(secretWords)+2)) + secretWords + file[2:]
}

// fill sets each pixel.
func fill[M interface {
	image.Image
	Set(x, y int, c color.Color)
}](m M, at func(x, y int) color.Color) M {
	for y := range m.Bounds().Dy() {
		for x := range m.Bounds().Dx() {
			m.Set(x, y, at(x, y))
		}
	}
	return m
}

func TestLogoIsRedrawn(t *testing.T) {
	t.Parallel()
	b := servicetest.NewFixture(t)
	random := rand.New(rand.NewPCG(1, 2))
	noise := func(int, int) color.Color {
		return color.NRGBA{uint8(random.Uint32()), uint8(random.Uint32()), uint8(random.Uint32()), uint8(random.Uint32())}
	}
	bars := func(x, y int) color.Color { return color.NRGBA{13, 87, 72, uint8(255 * ((x/8 + y/8) % 2))} }
	green := func(x, y int) color.Color { return color.NRGBA{13, 87, uint8(72 + 100*((x/20+y/20)%2)), 255} }
	checked := func(m *image.Gray) *image.Gray {
		return fill(m, func(x, y int) color.Color { return color.Gray{uint8(255 * ((x + y) % 2))} })
	}
	tests := []struct {
		name, content, ending string
		width, height         int // 0 for no matter
	}{
		{"PNG with a comment", withText(encoded(t, asPNG, fill(image.NewNRGBA(image.Rect(0, 0, 960, 100)), bars))), ".png", 480, 50},
		{"JPEG with a comment", withComment(encoded(t, asJPEG, fill(image.NewNRGBA(image.Rect(0, 0, 400, 400)), green))),
			".jpg", 96, 96},
		{"PNG that is HTML, too", encoded(t, asPNG, fill(image.NewNRGBA(image.Rect(0, 0, 100, 40)), green)) + secretWords,
			".png", 100, 40},
		{"JPEG that is HTML, too", encoded(t, asJPEG, fill(image.NewNRGBA(image.Rect(0, 0, 100, 40)), green)) + secretWords,
			".png", 100, 40},
		{"grey", encoded(t, asPNG, checked(image.NewGray(image.Rect(0, 0, 64, 64)))), ".png", 64, 64},
		{"of 16 bits", encoded(t, asPNG, fill(image.NewNRGBA64(image.Rect(0, 0, 64, 64)), bars)), ".png", 64, 64},
		{"with a palette", encoded(t, asPNG, fill(image.NewPaletted(image.Rect(0, 0, 64, 64), color.Palette{color.Black,
			color.Transparent}), bars)), ".png", 64, 64},
		{"smallest", encoded(t, asPNG, checked(image.NewGray(image.Rect(0, 0, 16, 16)))), ".png", 16, 16},
		{"widest", encoded(t, asPNG, checked(image.NewGray(image.Rect(0, 0, 4000, 16)))), ".png", 480, 2},
		{"largest", encoded(t, asPNG, checked(image.NewGray(image.Rect(0, 0, 2000, 2000)))), ".png", 96, 96},
		{"noise", encoded(t, asPNG, fill(image.NewNRGBA(image.Rect(0, 0, 300, 90)), noise)), ".png", 0, 0},
		{"a photo", encoded(t, asJPEG, fill(image.NewNRGBA(image.Rect(0, 0, 480, 96)), noise)), ".jpg", 0, 0},
	}
	for _, tt := range tests {
		if err := b.Accounts.SetLogo(b.Ctx, b.Account.AccountID, servicetest.Someone, strings.NewReader(tt.content)); err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		account, err := b.Accounts.Get(b.Ctx, b.Account.AccountID)
		b.OK(err)
		content, err := b.Accounts.Logo(b.Ctx, *account.LogoName)
		b.OK(err)
		size, format, err := image.DecodeConfig(bytes.NewReader(content))
		if err != nil || size.Width != *account.LogoWidth || size.Height != *account.LogoHeight ||
			(format == "png") != strings.HasSuffix(*account.LogoName, ".png") {
			t.Errorf("%s: %s of %v (%v), stored as %s of %d × %d", tt.name, format, size, err, *account.LogoName, *account.LogoWidth,
				*account.LogoHeight)
		}
		if tt.width != 0 && (size.Width != tt.width || size.Height != tt.height) || size.Width > domain.MaxLogoWidth ||
			size.Height > domain.MaxLogoHeight {
			t.Errorf("%s: %d × %d, want %d × %d", tt.name, size.Width, size.Height, tt.width, tt.height)
		}
		if !strings.HasSuffix(*account.LogoName, tt.ending) || len(content) > domain.MaxLogoBytes ||
			bytes.Contains(content, []byte("script")) {
			t.Errorf("%s: %s of %d bytes: %.60q", tt.name, *account.LogoName, len(content), content)
		}
		if sum := sha256.Sum256(content); hex.EncodeToString(sum[:16])+tt.ending != *account.LogoName {
			t.Errorf("%s: the name %s isn't of the content", tt.name, *account.LogoName)
		}
	}
	b.OK(b.Accounts.RemoveLogo(b.Ctx, b.Account.AccountID, servicetest.Someone))
	account, err := b.Accounts.Get(b.Ctx, b.Account.AccountID)
	if err != nil || account.LogoName != nil {
		t.Errorf("removed: %+v, %v", account, err)
	}
}

// TestLogoLosesItsBorder: what is drawn inside a border stays, whole, and nothing of the border.
func TestLogoLosesItsBorder(t *testing.T) {
	t.Parallel()
	b := servicetest.NewFixture(t)
	random := rand.New(rand.NewPCG(3, 4))
	for name, border := range map[string]color.Color{
		"transparent": color.Transparent, "white": color.White, "red": color.NRGBA{200, 0, 0, 255},
		"nearly transparent": color.NRGBA{255, 255, 255, 4},
	} {
		for blurred, encode := range map[int]func(io.Writer, image.Image) error{0: asPNG, 16: asJPEG} { // pixels of a JPEG's blocks
			inner := image.Rect(0, 0, 16+random.IntN(80), 16+random.IntN(80))
			inner = inner.Add(image.Pt(random.IntN(60), random.IntN(60)))
			m := fill(image.NewNRGBA(image.Rect(0, 0, inner.Max.X+random.IntN(60), inner.Max.Y+random.IntN(60))),
				func(x, y int) color.Color {
					if image.Pt(x, y).In(inner) {
						return color.NRGBA{0, 80, 255, 255}
					}
					return border
				})
			b.OK(b.Accounts.SetLogo(b.Ctx, b.Account.AccountID, servicetest.Someone, strings.NewReader(encoded(t, encode, m))))
			account, err := b.Accounts.Get(b.Ctx, b.Account.AccountID)
			b.OK(err)
			if wide, high := *account.LogoWidth-inner.Dx(), *account.LogoHeight-inner.Dy(); wide < 0 || high < 0 || wide > 2*blurred ||
				high > 2*blurred {
				t.Errorf("%s: %d × %d, want %v", name, *account.LogoWidth, *account.LogoHeight, inner)
			}
		}
	}
}

func TestHostileLogos(t *testing.T) {
	t.Parallel()
	b := servicetest.NewFixture(t)
	whole := encoded(t, asPNG, image.NewGray(image.Rect(0, 0, 64, 64)))
	photo := encoded(t, asJPEG, image.NewGray(image.Rect(0, 0, 64, 64)))
	tests := map[string]struct{ content, want string }{
		"nothing": {"", "empty"},
		"SVG": {
			`<?xml version="1.0"?><!-- a logo --><SVG xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></SVG>`,
			"SVG files can contain scripts"},
		"SVG after a mark": {"\xef\xbb\xbf  <svg onload='alert(1)'/>", "SVG files can contain scripts"},
		"HTML":             {"<!doctype html>" + secretWords, "must be a PNG or JPEG"},
		"GIF": {encoded(t, func(w io.Writer, m image.Image) error {
			return gif.Encode(w, m, nil)
		}, image.NewGray(image.Rect(0, 0, 64, 64))), "must be a PNG or JPEG"},
		"PDF":             {"%PDF-1.7", "must be a PNG or JPEG"},
		"too large":       {whole + strings.Repeat("x", domain.MaxLogoUpload), "512 KB or smaller"},
		"bomb":            {servicetest.Bomb(t), "4 million pixels"},
		"too wide":        {encoded(t, asPNG, image.NewGray(image.Rect(0, 0, 4001, 16))), "4,000 pixels"},
		"too many pixels": {encoded(t, asJPEG, image.NewGray(image.Rect(0, 0, 2001, 2000))), "4 million pixels"},
		"too small":       {encoded(t, asPNG, image.NewGray(image.Rect(0, 0, 64, 15))), "at least 16 pixels"},
		"blank":           {whole, "nothing on it"},
		"transparent":     {encoded(t, asPNG, image.NewNRGBA(image.Rect(0, 0, 64, 64))), "nothing on it"},
		"a dot": {encoded(t, asPNG, fill(image.NewNRGBA(image.Rect(0, 0, 64, 64)), func(x, y int) color.Color {
			return color.Gray{uint8(x / 60 * y / 60 * 255)}
		})), "at least 16 pixels"},
		"PNG cut short":      {whole[:len(whole)-20], "damaged"},
		"PNG of a signature": {whole[:8], "damaged"},
		"PNG, then SVG":      {whole[:8] + "<svg onload='alert(1)'/>", "damaged"},
		"PNG of false sums":  {whole[:45] + "\x00" + whole[46:], "damaged"},
		"JPEG cut short":     {photo[:len(photo)/2], "damaged"},
		"JPEG of a marker":   {"\xff\xd8\xff", "damaged"},
	}
	for name, tt := range tests {
		err := b.Accounts.SetLogo(b.Ctx, b.Account.AccountID, servicetest.Someone, strings.NewReader(tt.content))
		var own *domain.Error
		if !errors.As(err, &own) || len(own.Fields) != 1 || own.Fields[0].Field != "file" ||
			!strings.Contains(view.Words.Say(own.Fields[0]), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	if account, err := b.Accounts.Get(b.Ctx, b.Account.AccountID); err != nil || account.LogoName != nil {
		t.Errorf("a refused logo is kept: %+v, %v", account, err)
	}
}
