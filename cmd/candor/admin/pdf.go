package admin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"

	"candor/cmd/candor/cli"
	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
)

// verifiedPDF is whether a file has the bytes that were issued.
type verifiedPDF struct {
	Issued       bool            `json:"issued"`
	SHA256       string          `json:"sha256"`
	SessionID    string          `json:"session_id,omitempty"` // that the file names
	IssuedSHA256 string          `json:"issued_sha256,omitempty"`
	IssuedAt     *form.Timestamp `json:"issued_at"`
	reason       string          // why it can't be said to be issued
}

// Text says it in a sentence.
func (v *verifiedPDF) Text() string {
	if v.Issued {
		return fmt.Sprintf("Issued. These are the bytes that Candor issued for %s on %s.\nSHA-256 %s\n", v.SessionID,
			cli.Time(*v.IssuedAt), v.SHA256)
	}
	return fmt.Sprintf("Not verified: %s.\nSHA-256 %s\n", v.reason, v.SHA256)
}

// namedSession finds the session's id in a PDF without its zero bytes: the
// document's properties are UTF-16.
var namedSession = regexp.MustCompile(`sess_[0-9a-z]{26}`)

// pdfVerify compares a file with the digest of the PDF that was issued. It fails
// if they differ.
func (c commands) pdfVerify(ctx context.Context, args []string) error {
	flags := cli.NewJSONFlags("pdf verify")
	path, err := flags.ParseWithArgument(args, "a file")
	if err != nil {
		return err
	}
	file := os.Stdin // the packages' command isn't in the caller's folder, nor does it run as the caller
	if path != "-" {
		if file, err = os.Open(path); err != nil {
			return err
		}
		defer func() { _ = file.Close() }() // it was only read
	}
	content, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	app, err := c.Open(ctx)
	if err != nil {
		return err
	}
	defer app.Close()
	verified, err := app.verifyPDF(ctx, content)
	if err != nil {
		return err
	}
	if err = flags.Print(c.Out, verified); err == nil && !verified.Issued {
		return errors.New("the file is not verified as a PDF that Candor issued")
	}
	return err
}

func (a *App) verifyPDF(ctx context.Context, content []byte) (*verifiedPDF, error) {
	digest := sha256.Sum256(content)
	v := &verifiedPDF{SHA256: hex.EncodeToString(digest[:])}
	named := namedSession.Find(bytes.ReplaceAll(content, []byte{0}, nil))
	id, err := domain.ParseSessionID(string(named))
	if err != nil {
		v.reason = "the file names no session"
		return v, nil
	}
	v.SessionID = id.String()
	session, err := a.DB.SessionByID(ctx, id)
	if errors.Is(err, db.ErrNotFound) {
		v.reason = "there is no session " + v.SessionID + " here"
		return v, nil
	}
	if err != nil {
		return nil, err
	}
	issued := session.PDFSHA256
	v.IssuedSHA256 = hex.EncodeToString(issued)
	v.IssuedAt = form.AtOptional(session.PDFReadyAt)
	switch {
	case session.CustomerErasedAt != nil:
		v.reason = "the data of " + v.SessionID + " were erased on request, and the digest with them"
	case session.PDFReadyAt == nil:
		v.reason = "no PDF was issued for " + v.SessionID
	case !bytes.Equal(issued, digest[:]):
		v.reason = "the file was changed. The PDF that was issued for " + v.SessionID + " has the SHA-256 " + v.IssuedSHA256
	default:
		v.Issued = true
	}
	return v, nil
}
