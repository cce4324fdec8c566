package vault

import (
	"bufio"
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/minio/sio"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/platform/keyring"
)

// PutDocument seals and stores a document's bytes as content yields them. The
// document's id and session must be set.
func (v *Vault) PutDocument(ctx context.Context, q Store, document *domain.Document, content io.Reader) error {
	key, err := v.key(ctx, q, document.SessionID)
	if err != nil {
		return err
	}
	config, err := key.stream(document.ID)
	if err != nil {
		return err
	}
	sealed, err := sio.EncryptReader(content, config)
	if err != nil {
		return fmt.Errorf("vault: seal %s: %w", document.ID, err)
	}
	return v.blobs.Put(ctx, document.ID.String(), sealed)
}

// InsertDocument seals a document's name and stores its row. PutDocument must
// have stored its bytes.
func (v *Vault) InsertDocument(ctx context.Context, tx *db.Tx, document *domain.Document) error {
	key, err := v.key(ctx, tx, document.SessionID)
	if err != nil {
		return err
	}
	row := *document
	row.FileName = string(key.seal(fileName, row.ID.String(), []byte(row.FileName)))
	return tx.InsertDocument(ctx, &row)
}

// Document returns a document of a session and its bytes, which the caller
// closes. db.ErrNotFound or blob.ErrNotFound if there is none. keyring.ErrSealed
// if its row or the beginning of its bytes can't be opened. The reader returns an
// error for what can't be opened later.
func (v *Vault) Document(ctx context.Context, d *db.DB, session domain.SessionID, id domain.DocumentID) (*domain.Document,
	io.ReadCloser, error) {
	row, err := d.Document(ctx, session, id)
	if err != nil {
		return nil, nil, err
	}
	file, err := v.blobs.Open(ctx, id.String())
	if err != nil {
		return nil, nil, err
	}
	key, err := v.existing(ctx, d, session)
	var content io.Reader
	if err == nil {
		content, err = key.openFile(id, file)
	}
	if err == nil {
		err = key.openName(row)
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return row, &openFile{content, file}, nil
}

type openFile struct {
	io.Reader
	io.Closer
}

// openFile returns the clear bytes of a document.
func (k *dataKey) openFile(id domain.DocumentID, stored io.Reader) (io.Reader, error) {
	config, err := k.stream(id)
	if err != nil {
		return nil, err
	}
	opened, err := sio.DecryptReader(stored, config)
	if err != nil {
		return nil, fmt.Errorf("vault: open %s: %w", id, err)
	}
	// A wrong key shows at the first byte, before anything is answered.
	content := bufio.NewReader(opened)
	if _, err := content.Peek(1); err != nil {
		return nil, fmt.Errorf("vault: %s: %w: %w", id, keyring.ErrSealed, err)
	}
	return content, nil
}

// stream is how a document's bytes are sealed: in packages of 64 KiB, each
// with its number and whether it is the last, under a key of its own. So no
// package can be left out, moved or taken from another document.
func (k *dataKey) stream(id domain.DocumentID) (sio.Config, error) {
	if k == nil {
		return sio.Config{}, errNoKey
	}
	secret, err := hkdf.Key(sha256.New, k.secret, nil, string(k.place(document, id.String())), 32)
	return sio.Config{
		MinVersion: sio.Version20, MaxVersion: sio.Version20, CipherSuites: []byte{sio.AES_256_GCM}, Key: secret,
	}, err
}

// Documents returns a session's documents in the order of their upload.
func (v *Vault) Documents(ctx context.Context, q Store, session domain.SessionID) ([]domain.Document, error) {
	documents, err := q.Documents(ctx, session)
	if err != nil {
		return nil, err
	}
	key, err := v.existing(ctx, q, session)
	if err != nil {
		return nil, err
	}
	return documents, key.openNames(documents)
}

// openNames opens the names of a session's documents in place.
func (k *dataKey) openNames(documents []domain.Document) error {
	for i := range documents {
		if err := k.openName(&documents[i]); err != nil {
			return err
		}
	}
	return nil
}

func (k *dataKey) openName(d *domain.Document) error {
	name, err := k.open(fileName, d.ID.String(), []byte(d.FileName))
	d.FileName = string(name)
	return err
}
