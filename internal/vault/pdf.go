package vault

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"candor/db"
	"candor/internal/domain"
)

// InsertPDF seals and stores a session's PDF, and reports whether it is the
// first. It stores nothing if the session's data are erased.
func (v *Vault) InsertPDF(ctx context.Context, tx *db.Tx, session domain.SessionID, made domain.PDF, now time.Time) (first bool,
	err error) {
	key, err := v.key(ctx, tx, session)
	if errors.Is(err, db.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	digest, size := sha256.Sum256(made.Content), int64(len(made.Content))
	made.Content = key.seal(pdf, "", made.Content)
	return tx.InsertPDF(ctx, session, made, digest[:], size, now)
}

// PDF returns a session's PDF, or db.ErrNotFound while there is none.
// keyring.ErrSealed if it can't be opened.
func (v *Vault) PDF(ctx context.Context, d *db.DB, session domain.SessionID) ([]byte, error) {
	stored, err := d.PDF(ctx, session)
	if err != nil {
		return nil, err
	}
	key, err := v.existing(ctx, d, session)
	if err != nil {
		return nil, err
	}
	return key.open(pdf, "", stored)
}
