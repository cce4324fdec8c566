package forms

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"image"
	"io"
	"sync"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/platform/blob"
	"candor/internal/statement"
)

// Upload is a file that a customer sends.
type Upload struct {
	Category string // "" for not chosen yet
	FileName string // as the device named it
	Content  io.Reader
	Approved bool // the session's account is, and so has more places (D52, D86)
	// Began, if not nil, is called once the upload has a place, with whether it should
	// make haste from then on, because others lack one (D86).
	Began func(crowded func() bool)
	// Rest, if not nil, is called after Content was read and returns the
	// category: a form can send it after the file. Its error drops the file.
	Rest func() (category string, err error)
}

// maxPixels is more than any phone's photo. An image that claims more can exhaust
// the memory of the computer that opens it.
const maxPixels = 200_000_000

// cleanupTime is how long the removal of a refused upload may take.
const cleanupTime = 10 * time.Second

// ErrUploadsBusy says that an upload found no place in time (D86).
var ErrUploadsBusy = &domain.Error{
	Code: domain.CodeServiceUnavailable, Message: "Too many uploads are running.", RetryAfter: time.Minute,
}

// AddDocument stores an upload with the session while it is read: PDF, JPEG,
// PNG or HEIC by its content, at most 10 MiB, at most 20 a session (D23). It
// is saved at once. No byte is stored if the session is closed or full, or has
// used up statement.MaxUploadedBytes. What is refused later is deleted before
// AddDocument returns. The category can be left out until CompleteDocuments.
// Errors: AlreadyAdded, validation_error on file or category, service_unavailable,
// those of a session that isn't open, and those of reading Content and Rest.
func (s *Service) AddDocument(ctx context.Context, session *domain.Session, upload Upload) error {
	if upload.Rest == nil {
		category := upload.Category
		upload.Rest = func() (string, error) { return category, nil }
		if err := checkCategory(category); err != nil {
			return err
		}
	}
	document := &domain.Document{ID: domain.NewDocumentID(), SessionID: session.ID}
	content := &limited{r: bufio.NewReaderSize(upload.Content, waitingBytes), n: &document.SizeBytes}
	end, err := s.uploads.begin(ctx, session, upload, content.r)
	if err != nil {
		return err
	}
	defer end()
	if document.ContentType, err = content.sniff(); err != nil {
		return err
	}
	if err := s.reserveUpload(ctx, session); err != nil {
		return err
	}
	err = s.receive(ctx, document, upload, content)
	perhaps := false
	if err == nil {
		err = s.insert(ctx, session, document)
		perhaps = err != nil && !errors.As(err, new(*domain.Error)) && !errors.As(err, new(*AlreadyAdded))
	}
	s.settleUpload(ctx, document, err, perhaps)
	return err
}

// AlreadyAdded says that a session has the bytes of an upload in a document (D84). That
// one keeps its name, and its category if it has one.
type AlreadyAdded struct {
	Document domain.DocumentID
	// Category is the document's, if the upload came with another one; else "".
	Category string
}

// Error is for logs. The form words it.
func (*AlreadyAdded) Error() string { return "the file was added before" }

// insert stores the row of a received document. The session's lock decides between two
// uploads of the same bytes: a unique constraint would fail on what earlier releases
// stored twice, and make the previous release answer a second upload with an error (D75).
func (s *Service) insert(ctx context.Context, session *domain.Session, document *domain.Document) error {
	var already *AlreadyAdded
	err := s.change(ctx, session, func(tx *db.Tx, _ *domain.Session, _ time.Time) error {
		existing, err := tx.Documents(ctx, session.ID)
		if err != nil {
			return err
		}
		for _, d := range existing {
			if !bytes.Equal(d.SHA256, document.SHA256) {
				continue
			}
			already = &AlreadyAdded{Document: d.ID}
			switch {
			case d.Category == "":
				return tx.DescribeDocument(ctx, session.ID, d.ID, document.Category)
			case document.Category != "" && document.Category != d.Category:
				already.Category = d.Category
			}
			return nil
		}
		if err := roomFor(existing); err != nil {
			return err
		}
		return s.Vault.InsertDocument(ctx, tx, document)
	})
	if err == nil && already != nil {
		return already
	}
	return err
}

// roomFor is an error if a session with these documents can have no other one.
func roomFor(existing []domain.Document) error {
	if len(existing) >= statement.MaxDocuments {
		return fileError("file", statement.TooManyFiles)
	}
	return nil
}

// reserveUpload takes room for the largest file from an open session's budget
// of uploads. settleUpload gives back what the file did not need.
func (s *Service) reserveUpload(ctx context.Context, session *domain.Session) error {
	return s.change(ctx, session, func(tx *db.Tx, _ *domain.Session, _ time.Time) error {
		existing, err := tx.Documents(ctx, session.ID)
		if err == nil {
			err = roomFor(existing)
		}
		if err != nil {
			return err
		}
		err = tx.ReserveUpload(ctx, session.ID, statement.MaxDocumentBytes, statement.MaxUploadedBytes)
		if errors.Is(err, db.ErrState) {
			return fileError("file", statement.TooMuchUploaded)
		}
		return err
	})
}

// settleUpload counts what was received of a document, and deletes its bytes
// if the upload failed. A file that was added before costs nothing (D84). It works after the customer has gone, too. If it fails,
// the upkeep job deletes the bytes. If the document is perhaps stored, because its
// commit wasn't answered, the bytes stay: the upkeep job knows whether it is.
func (s *Service) settleUpload(ctx context.Context, document *domain.Document, failed error, perhaps bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	received := document.SizeBytes
	if errors.As(failed, new(*AlreadyAdded)) {
		received = 0
	}
	err := s.DB.SettleUpload(ctx, document.SessionID, statement.MaxDocumentBytes-received)
	if failed != nil && !perhaps {
		deleting := s.Blobs.Delete(ctx, document.ID.String())
		// What a bucket didn't confirm can still arrive there: the upkeep job deletes it
		// an hour later.
		if deleting == nil && !errors.Is(failed, blob.ErrUnavailable) {
			deleting = s.DB.ForgetBlob(ctx, document.ID)
		}
		err = errors.Join(err, deleting)
	}
	if err != nil {
		s.Logger.ErrorContext(ctx, "clean up after an upload", "document_id", document.ID.String(), "error", err)
	}
}

// receive stores the upload's bytes as they are read and completes the
// document. It counts the bytes in SizeBytes if it fails, too.
func (s *Service) receive(ctx context.Context, document *domain.Document, upload Upload, content io.Reader) (err error) {
	document.FileName, document.UploadedAt = cleanFileName(upload.FileName, document.ContentType), s.Clock.Now()
	if err := s.DB.ReserveBlob(ctx, document.ID, document.UploadedAt); err != nil {
		return err
	}
	if err := s.put(ctx, document, content); err != nil {
		return err
	}
	document.Category, err = upload.Rest()
	if err != nil {
		return err
	}
	return checkCategory(document.Category)
}

// checkCategory is an error if a chosen category is unknown.
func checkCategory(category string) error {
	if category == "" || statement.KnownCategory(category) {
		return nil
	}
	return fileError("category", statement.NoCategory)
}

// put stores a document's content, hashes it and checks a picture's size, all
// in one pass and in constant memory.
func (s *Service) put(ctx context.Context, document *domain.Document, content io.Reader) error {
	hash := sha256.New()
	into := io.Writer(hash)
	check := func() error { return nil }
	if document.ContentType == "image/jpeg" || document.ContentType == "image/png" {
		var picture io.Writer
		picture, check = checkPicture()
		into = io.MultiWriter(hash, picture)
	}
	err := s.Vault.PutDocument(ctx, s.DB, document, io.TeeReader(content, into))
	if problem := check(); err == nil {
		err = problem
	}
	document.SHA256 = hash.Sum(nil)
	return err
}

// checkPicture returns a writer for a picture's bytes and a function that ends
// it and says what is wrong with the picture. A phone's JPEG can name its size
// after megabytes of metadata, so no fixed part of its beginning suffices.
func checkPicture() (io.Writer, func() error) {
	r, w := io.Pipe()
	var problem error
	var wg sync.WaitGroup
	wg.Go(func() {
		config, _, err := image.DecodeConfig(r)
		switch {
		case err != nil:
			problem = fileError("file", statement.FileDamaged)
		case config.Width*config.Height > maxPixels:
			problem = fileError("file", statement.PictureTooLarge)
		default:
			_, _ = io.Copy(io.Discard, r) // the rest says nothing about the size
		}
		_ = r.CloseWithError(problem) // ends the upload at its next write
	})
	return w, func() error {
		_ = w.Close() // never fails
		wg.Wait()
		return problem
	}
}

// RemoveDocument deletes a document of an open session. A missing document is no
// error. Its bytes wait for the upkeep job, for the sake of backups, unless the session
// has removed more than statement.MaxRemovedBytes lately: then its oldest go (D87).
func (s *Service) RemoveDocument(ctx context.Context, session *domain.Session, document domain.DocumentID) error {
	var excess []domain.DocumentID
	err := s.change(ctx, session, func(tx *db.Tx, _ *domain.Session, now time.Time) error {
		err := tx.DeleteDocument(ctx, session.ID, document, now)
		if err != nil && !errors.Is(err, db.ErrNotFound) {
			return err
		}
		excess, err = tx.ExcessGarbage(ctx, session.ID, statement.MaxRemovedBytes)
		return err
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	for _, id := range excess { // what stays, the next removal or the upkeep job deletes
		if err := s.deleteBlob(ctx, id); err != nil {
			s.Logger.ErrorContext(ctx, "delete a removed document", "document_id", id.String(), "error", err)
			break
		}
	}
	return nil
}

// deleteBlob deletes a blob and the note that it is garbage.
func (s *Service) deleteBlob(ctx context.Context, id domain.DocumentID) error {
	if err := s.Blobs.Delete(ctx, id.String()); err != nil {
		return err
	}
	return s.DB.ForgetBlob(ctx, id)
}

// DescribeDocuments stores the categories chosen for stored documents of an open
// session. Missing documents are ignored. Errors: validation_error on
// statement.CategoryField of an unknown category.
func (s *Service) DescribeDocuments(ctx context.Context, session *domain.Session, chosen map[domain.DocumentID]string) error {
	for document, category := range chosen {
		if !statement.KnownCategory(category) {
			return fileError(statement.CategoryField(document.String()), statement.NoCategory)
		}
	}
	return s.change(ctx, session, func(tx *db.Tx, _ *domain.Session, _ time.Time) error {
		for document, category := range chosen {
			if err := tx.DescribeDocument(ctx, session.ID, document, category); err != nil {
				return err
			}
		}
		return nil
	})
}

// described is a validation error that names each document of a session without
// a category.
func described(ctx context.Context, tx *db.Tx, id domain.SessionID) error {
	documents, err := tx.Documents(ctx, id)
	if err != nil {
		return err
	}
	var missing form.Errors
	for _, d := range documents {
		if d.Category == "" {
			missing = append(missing, form.Error{Field: statement.CategoryField(d.ID.String()), Message: statement.NoCategory})
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return &domain.Error{Code: domain.CodeValidation, Fields: missing}
}

func fileError(field, message string) error {
	return domain.FieldError(domain.CodeValidation, field, message)
}
