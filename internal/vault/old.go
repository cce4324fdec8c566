package vault

import (
	"context"
	"errors"
	"fmt"

	"candor/db"
	"candor/internal/domain"
)

// oldBatch is how many sessions with clear values are listed at once.
const oldBatch = 200

// SealOld seals what earlier releases stored in clear and returns of how many
// sessions. It ends when nothing is left or ctx ends, and can be run again at
// any time. A session that fails doesn't stop the others.
func (v *Vault) SealOld(ctx context.Context, d *db.DB) (sealed int, err error) {
	var failed error
	var after domain.SessionID
	for {
		sessions, err := d.UnsealedSessions(ctx, after, oldBatch)
		if err != nil || len(sessions) == 0 {
			return sealed, errors.Join(failed, err)
		}
		for _, id := range sessions {
			if err := v.sealSession(ctx, d, id); err != nil {
				failed = fmt.Errorf("vault: seal what %s stored in clear: %w", id, err)
			} else {
				sealed++
			}
			after = id
		}
	}
}

func (v *Vault) sealSession(ctx context.Context, d *db.DB, session domain.SessionID) error {
	// The key is committed first, so that readers find it with what it sealed.
	// There is none if the data were erased, and nothing to seal.
	key, err := v.key(ctx, d, session)
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return err
	}
	return d.InTx(ctx, func(tx *db.Tx) error {
		if err := tx.LockUnsealed(ctx, session); err != nil {
			return err
		}
		if key != nil {
			if err := errors.Join(key.sealSections(ctx, tx), key.sealPDF(ctx, tx), v.sealDocuments(ctx, tx, key)); err != nil {
				return err
			}
		}
		return tx.ForgetUnsealed(ctx, session)
	})
}

func (k *dataKey) sealSections(ctx context.Context, tx *db.Tx) error {
	stored, err := tx.Sections(ctx, k.session)
	if err != nil {
		return err
	}
	for _, s := range stored {
		s.Answers, s.Draft = k.sealed(answers, s.Name, s.Answers), k.sealed(draft, s.Name, s.Draft)
		if err := tx.ReplaceAnswers(ctx, k.session, &s); err != nil {
			return err
		}
	}
	return nil
}

func (k *dataKey) sealPDF(ctx context.Context, tx *db.Tx) error {
	stored, err := tx.PDF(ctx, k.session)
	if errors.Is(err, db.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return tx.ReplacePDF(ctx, k.session, k.sealed(pdf, "", stored))
}

// sealed returns a stored value sealed: as it is if it is sealed or nil.
func (k *dataKey) sealed(of kind, name string, stored []byte) []byte {
	if stored == nil || isSealed(stored) {
		return stored
	}
	return k.seal(of, name, stored)
}
