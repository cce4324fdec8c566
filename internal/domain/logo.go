package domain

// The largest logo: as uploaded, and as stored and shown.
const (
	MaxLogoUpload = 512 << 10 // bytes
	MaxLogoBytes  = 16 << 10
	MaxLogoWidth  = 480 // pixels, two for each shown pixel
	MaxLogoHeight = 96
)

// A Logo is an account's picture on its customers' forms and PDFs.
type Logo struct {
	Name    string // made from Content; ends in .png or .jpg
	Width   int    // pixels
	Height  int
	Content []byte
}
