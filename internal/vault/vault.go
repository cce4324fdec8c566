// Package vault seals what customers give before it is stored, and opens it
// again (D63): answers, drafts, prefill, what is offered and asked, PDFs, documents and
// their names. Each session
// has a random data key of its own, which the keyring seals. Erasing that key
// erases everything the session ever stored, also in backups of the rest.
//
// It stands between storage, which sees sealed bytes alone, and the use cases,
// which see none. It must not know HTTP or what a use case is for.
package vault

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/platform/blob"
	"candor/internal/platform/keyring"
)

// A Vault is safe for concurrent use. It keeps no opened key.
type Vault struct {
	ring  *keyring.Keyring
	blobs blob.Store
}

// New returns a vault whose data keys ring seals. Documents' bytes are in blobs.
func New(ring *keyring.Keyring, blobs blob.Store) *Vault { return &Vault{ring, blobs} }

// A Store is the database, in a transaction (*db.Tx) or not (*db.DB).
type Store interface {
	SessionKey(ctx context.Context, session domain.SessionID) ([]byte, error)
	InsertSessionKey(ctx context.Context, session domain.SessionID, sealed []byte) error
	Sections(ctx context.Context, session domain.SessionID) ([]db.Section, error)
	Documents(ctx context.Context, session domain.SessionID) ([]domain.Document, error)
}

var (
	_ Store = (*db.DB)(nil)
	_ Store = (*db.Tx)(nil)
)

// kind names what a value is, so that none can be stored as another.
type kind string

const (
	answers  kind = "answers"
	draft    kind = "draft"
	prefill  kind = "prefill"
	offered  kind = "offered"
	ask      kind = "ask"
	pdf      kind = "pdf"
	fileName kind = "file name"
	document kind = "document"
)

// version is the first byte of each sealed value.
const version = 1

// A dataKey is a session's opened key. The nil key opens nothing.
type dataKey struct {
	session domain.SessionID
	secret  []byte // 32 bytes
	box     cipher.AEAD
}

func newDataKey(session domain.SessionID, secret []byte) (*dataKey, error) {
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, fmt.Errorf("vault: data key of %s: %w", session, err)
	}
	box, err := cipher.NewGCMWithRandomNonce(block)
	return &dataKey{session, secret, box}, err
}

// existing returns the session's key, or nil if it has none.
func (v *Vault) existing(ctx context.Context, q Store, session domain.SessionID) (*dataKey, error) {
	sealed, err := q.SessionKey(ctx, session)
	if errors.Is(err, db.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	secret, err := v.ring.Open(domain.SessionKeyOwner(session), sealed)
	if err != nil {
		return nil, fmt.Errorf("vault: data key of %s: %w", session, err)
	}
	return newDataKey(session, secret)
}

// key returns the session's key. It makes one if there is none, so that
// creating a session costs no second row. ErrNotFound if the session's data
// are erased, which must stay so.
func (v *Vault) key(ctx context.Context, q Store, session domain.SessionID) (*dataKey, error) {
	key, err := v.existing(ctx, q, session)
	if key != nil || err != nil {
		return key, err
	}
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	if err := q.InsertSessionKey(ctx, session, v.ring.Seal(domain.SessionKeyOwner(session), secret)); err != nil {
		return nil, err
	}
	// Of two at once, one is stored.
	key, err = v.existing(ctx, q, session)
	if key == nil && err == nil {
		err = fmt.Errorf("vault: data key of %s: %w", session, db.ErrNotFound)
	}
	return key, err
}

// place names where a value belongs. It is authenticated with the value, so
// that a value can't be moved to another session, kind or name.
func (k *dataKey) place(of kind, name string) []byte {
	return []byte(k.session.String() + "\x00" + string(of) + "\x00" + name)
}

func (k *dataKey) seal(of kind, name string, clear []byte) []byte {
	out := make([]byte, 1, 1+k.box.Overhead()+len(clear))
	out[0] = version
	return k.box.Seal(out, nil, clear, k.place(of, name)) //nolint:gosec // the box makes a random nonce for each value
}

// open returns the clear value. nil stays nil.
func (k *dataKey) open(of kind, name string, stored []byte) ([]byte, error) {
	if stored == nil {
		return nil, nil
	}
	if k == nil {
		return nil, errNoKey
	}
	if len(stored) > 0 && stored[0] == version {
		if clear, err := k.box.Open(nil, nil, stored[1:], k.place(of, name)); err == nil {
			return clear, nil
		}
	}
	return nil, fmt.Errorf("vault: %s %s of %s: %w", of, name, k.session, keyring.ErrSealed)
}

var errNoKey = fmt.Errorf("vault: the session has no data key: %w", keyring.ErrSealed)
