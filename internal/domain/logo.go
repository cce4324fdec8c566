package domain

// The most that a logo may be: as it is uploaded, and as it is kept and shown.
const (
	MaxLogoUpload = 512 << 10 // bytes
	MaxLogoBytes  = 16 << 10
	MaxLogoWidth  = 480 // pixels, two to each that is shown
	MaxLogoHeight = 96
)

// A Logo is an account's picture on its customers' forms and PDFs.
type Logo struct {
	Name    string // follows from Content, with .png or .jpg as its type says
	Width   int    // pixels
	Height  int
	Content []byte
}
