package accounts

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/draw"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/audit"
)

// Limits of an uploaded picture, checked before it is decoded: a small file can
// claim a size that fills the memory.
const (
	minLogoSide   = 16 // pixels
	maxLogoSide   = 4_000
	maxLogoPixels = 4_000_000
)

// logoQuality is a JPEG's, at twice the pixels that are shown.
const logoQuality = 82

// SetLogo makes a PNG or JPEG the account's logo. It draws the picture again,
// small enough for a form, so that nothing else in the file is kept. Error:
// validation_error on file.
func (s *Service) SetLogo(ctx context.Context, id domain.AccountID, by domain.Actor, picture io.Reader) error {
	content, err := io.ReadAll(io.LimitReader(picture, domain.MaxLogoUpload+1))
	if err != nil {
		return err
	}
	select {
	case s.drawing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	logo, err := makeLogo(content)
	<-s.drawing
	if err != nil {
		return err
	}
	return s.storeLogo(ctx, id, by, logo)
}

// RemoveLogo removes the account's logo, if it has one.
func (s *Service) RemoveLogo(ctx context.Context, id domain.AccountID, by domain.Actor) error {
	return s.storeLogo(ctx, id, by, nil)
}

func (s *Service) storeLogo(ctx context.Context, id domain.AccountID, by domain.Actor, logo *domain.Logo) error {
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		account, err := tx.LockAccount(ctx, id)
		if err != nil {
			return db.MissingAs(err, domain.ErrAccountNotFound)
		}
		var name *string
		if logo != nil {
			name = &logo.Name
		}
		if text(name) == text(account.LogoName) {
			return nil
		}
		if err := tx.SetLogo(ctx, id, logo); err != nil {
			return err
		}
		return s.Audit.Record(ctx, tx, id, by, audit.Entry{
			Action: domain.AuditAccountChanged, TargetID: id.String(), TargetName: account.Name,
			Before: map[string]any{"logo": account.LogoName}, After: map[string]any{"logo": name},
		})
	})
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Logo returns the bytes of the logo with that name, or not_found.
func (s *Service) Logo(ctx context.Context, name string) ([]byte, error) {
	content, err := s.DB.Logo(ctx, name)
	return content, db.MissingAs(err, domain.Errorf(domain.CodeNotFound, "There is nothing at this address."))
}

func logoError(rule form.Rule) error {
	return domain.Breaks(domain.CodeValidation, "file", rule)
}

// makeLogo returns the picture as it is stored, or what is wrong with it.
func makeLogo(content []byte) (*domain.Logo, error) {
	switch {
	case len(content) == 0:
		return nil, logoError(form.Rule{Code: "logo_empty"})
	case len(content) > domain.MaxLogoUpload:
		return nil, logoError(form.Rule{Code: "logo_bytes"})
	}
	size, decode := png.DecodeConfig, png.Decode
	switch {
	case bytes.HasPrefix(content, []byte("\x89PNG\r\n\x1a\n")):
	case bytes.HasPrefix(content, []byte("\xff\xd8\xff")):
		size, decode = jpeg.DecodeConfig, jpeg.Decode
	default:
		return nil, logoError(notAPicture(content))
	}
	claim, err := size(bytes.NewReader(content))
	if err != nil {
		return nil, logoError(form.Rule{Code: "logo_damaged"})
	}
	switch {
	case claim.Width < minLogoSide || claim.Height < minLogoSide:
		return nil, logoError(form.Rule{Code: "logo_sides", Min: minLogoSide})
	case claim.Width > maxLogoSide || claim.Height > maxLogoSide || claim.Width*claim.Height > maxLogoPixels:
		return nil, logoError(form.Rule{Code: "logo_pixels"})
	}
	picture, err := decode(bytes.NewReader(content))
	if err != nil {
		return nil, logoError(form.Rule{Code: "logo_damaged"})
	}
	inner := withoutBorder(picture)
	switch {
	case inner.Empty():
		return nil, logoError(form.Rule{Code: "logo_blank"})
	case inner.Dx() < minLogoSide || inner.Dy() < minLogoSide:
		return nil, logoError(form.Rule{Code: "logo_sides", Min: minLogoSide})
	}
	return drawLogo(picture, inner)
}

// alike is how far apart the parts of two pixels of one colour may be, of 65,535: a JPEG's
// are not quite the same.
const alike = 12 * 257

// withoutBorder is the part of the picture inside a border that is transparent or has the
// colour of the corner at its top left; it is empty if the whole picture is like that.
func withoutBorder(picture image.Image) image.Rectangle {
	at := func(x, y int) color.RGBA64 { return color.RGBA64Model.Convert(picture.At(x, y)).(color.RGBA64) }
	if fast, ok := picture.(image.RGBA64Image); ok {
		at = fast.RGBA64At
	}
	in := picture.Bounds()
	corner := at(in.Min.X, in.Min.Y)
	plain := func(r image.Rectangle) bool {
		for y := r.Min.Y; y < r.Max.Y; y++ {
			for x := r.Min.X; x < r.Max.X; x++ {
				if !near(at(x, y), corner) {
					return false
				}
			}
		}
		return true
	}
	for !in.Empty() && plain(image.Rect(in.Min.X, in.Min.Y, in.Max.X, in.Min.Y+1)) {
		in.Min.Y++
	}
	for !in.Empty() && plain(image.Rect(in.Min.X, in.Max.Y-1, in.Max.X, in.Max.Y)) {
		in.Max.Y--
	}
	for !in.Empty() && plain(image.Rect(in.Min.X, in.Min.Y, in.Min.X+1, in.Max.Y)) {
		in.Min.X++
	}
	for !in.Empty() && plain(image.Rect(in.Max.X-1, in.Min.Y, in.Max.X, in.Max.Y)) {
		in.Max.X--
	}
	return in
}

// near reports whether two pixels are of one colour. Both have their colour multiplied by
// alpha, so that all that is transparent is alike.
func near(a, b color.RGBA64) bool {
	same := func(v, w uint16) bool { return max(v, w)-min(v, w) <= alike }
	return same(a.R, b.R) && same(a.G, b.G) && same(a.B, b.B) && same(a.A, b.A)
}

// notAPicture says why a file that is neither PNG nor JPEG isn't taken.
func notAPicture(content []byte) form.Rule {
	if bytes.Contains(bytes.ToLower(content[:min(len(content), 4096)]), []byte("<svg")) {
		return form.Rule{Code: "logo_svg"}
	}
	return form.Rule{Code: "logo_format"}
}

// drawLogo makes that part of the picture as small as a form needs it, and smaller if it
// still has too many bytes.
func drawLogo(picture image.Image, from image.Rectangle) (*domain.Logo, error) {
	fit := min(1, domain.MaxLogoWidth/float64(from.Dx()), domain.MaxLogoHeight/float64(from.Dy()))
	for ; ; fit *= 0.8 {
		canvas := image.NewRGBA(image.Rect(0, 0, max(1, int(float64(from.Dx())*fit+0.5)), max(1, int(float64(from.Dy())*fit+0.5))))
		if canvas.Bounds().Size() == from.Size() {
			draw.Draw(canvas, canvas.Bounds(), picture, from.Min, draw.Src)
		} else {
			draw.CatmullRom.Scale(canvas, canvas.Bounds(), picture, from, draw.Src, nil)
		}
		content, ending, err := encodeLogo(canvas)
		if err != nil {
			return nil, err
		}
		if len(content) <= domain.MaxLogoBytes {
			sum := sha256.Sum256(content)
			return &domain.Logo{
				Name: hex.EncodeToString(sum[:16]) + ending, Width: canvas.Bounds().Dx(), Height: canvas.Bounds().Dy(), Content: content,
			}, nil
		}
	}
}

// encodeLogo returns the shorter of PNG and, if the picture is opaque, JPEG.
func encodeLogo(canvas *image.RGBA) (content []byte, ending string, err error) {
	var asPNG, asJPEG bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&asPNG, canvas); err != nil {
		return nil, "", err
	}
	if !canvas.Opaque() {
		return asPNG.Bytes(), ".png", nil
	}
	if err := jpeg.Encode(&asJPEG, canvas, &jpeg.Options{Quality: logoQuality}); err != nil {
		return nil, "", err
	}
	// A drawing has sharp edges, which JPEG blurs: it must be worth it.
	if asPNG.Len() <= domain.MaxLogoBytes && asPNG.Len() < 2*asJPEG.Len() {
		return asPNG.Bytes(), ".png", nil
	}
	return asJPEG.Bytes(), ".jpg", nil
}
