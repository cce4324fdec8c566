package service

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"image"
	_ "image/jpeg" // DecodeConfig reads a photo's size
	_ "image/png"
	"io"
	"path"
	"strings"
	"time"

	"candor/db"
	"candor/form"
	"candor/intake"
	"candor/statement"
)

// Upload is a file that a customer sends.
type Upload struct {
	Category string
	FileName string // as the device named it
	Content  io.Reader
}

// maxPixels is more than any phone's photo; an image that claims more is a
// bomb for whoever opens it.
const maxPixels = 200_000_000

// AddDocument stores an upload with the session: PDF, JPEG, PNG or HEIC by
// its content, at most 10 MiB, at most 20 a session (D23). It is saved at
// once. Errors: validation_error on file or category, and those of a session
// that isn't open.
func (s *Service) AddDocument(ctx context.Context, id intake.SessionID, upload Upload) error {
	if !knownCategory(upload.Category) {
		return uploadError("category", statement.NoCategory)
	}
	content, err := io.ReadAll(io.LimitReader(upload.Content, statement.MaxDocumentBytes+1))
	if err != nil {
		return err
	}
	contentType, err := checkContent(content)
	if err != nil {
		return err
	}
	now := s.Clock.Now()
	sum := sha256.Sum256(content)
	document := &db.Document{
		ID: intake.NewDocumentID(), SessionID: id, Category: upload.Category, FileName: cleanFileName(upload.FileName, contentType),
		ContentType: contentType, SizeBytes: int64(len(content)), SHA256: sum[:], UploadedAt: now,
	}
	// A closed form takes no bytes; whether it is open still is seen below.
	session, err := s.DB.SessionByID(ctx, id)
	if err != nil {
		return orCode(err, errSessionNotFound)
	}
	if conflict := session.Conflict(now); conflict != nil {
		return conflict
	}
	if err := s.DB.ReserveBlob(ctx, document.ID, now); err != nil {
		return err
	}
	if err := s.Blobs.Put(ctx, document.ID.String(), bytes.NewReader(content)); err != nil {
		return err
	}
	return s.change(ctx, id, func(tx *db.Tx, _ *intake.Session, _ time.Time) error {
		existing, err := tx.Documents(ctx, id)
		if err != nil {
			return err
		}
		if len(existing) >= statement.MaxDocuments {
			return uploadError("file", statement.TooManyFiles)
		}
		return tx.InsertDocument(ctx, document)
	})
}

// RemoveDocument deletes a document of an open session; one that isn't there
// is no error.
func (s *Service) RemoveDocument(ctx context.Context, id intake.SessionID, document intake.DocumentID) error {
	return s.change(ctx, id, func(tx *db.Tx, _ *intake.Session, now time.Time) error {
		err := tx.DeleteDocument(ctx, id, document, now)
		if errors.Is(err, db.ErrNotFound) {
			return nil
		}
		return err
	})
}

func uploadError(field, message string) error {
	return intake.FieldError(intake.CodeValidation, field, message)
}

func knownCategory(code string) bool {
	for _, o := range statement.DocumentCategories {
		if o.Code == code {
			return true
		}
	}
	return false
}

// checkContent returns the content's type, or what is wrong with it.
func checkContent(content []byte) (string, error) {
	switch {
	case len(content) == 0:
		return "", uploadError("file", statement.FileEmpty)
	case len(content) > statement.MaxDocumentBytes:
		return "", uploadError("file", statement.FileTooLarge)
	}
	contentType := sniff(content)
	if contentType == "" {
		return "", uploadError("file", statement.FileTypeUnknown)
	}
	if contentType == "image/jpeg" || contentType == "image/png" {
		config, _, err := image.DecodeConfig(bytes.NewReader(content))
		if err != nil {
			return "", uploadError("file", statement.FileDamaged)
		}
		if config.Width*config.Height > maxPixels {
			return "", uploadError("file", statement.PictureTooLarge)
		}
	}
	return contentType, nil
}

// sniff tells the accepted types by their first bytes, "" for any other.
func sniff(content []byte) string {
	switch {
	case bytes.HasPrefix(content, []byte("%PDF-")):
		return "application/pdf"
	case bytes.HasPrefix(content, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(content, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case len(content) >= 12 && string(content[4:8]) == "ftyp":
		switch string(content[8:12]) {
		case "heic", "heix", "hevc", "heim", "heis", "hevm", "hevs", "mif1", "msf1":
			return "image/heic"
		}
	}
	return ""
}

// cleanFileName keeps the last part of a path, without control characters,
// at most 200 characters long.
func cleanFileName(name, contentType string) string {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	name, problem := form.CleanText(name, 200)
	if problem != "" || name == "" || name == "." || name == ".." || name == "/" {
		_, extension, _ := strings.Cut(contentType, "/")
		return "document." + extension
	}
	return name
}
