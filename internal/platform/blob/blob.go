// Package blob keeps the bytes of uploaded documents by their id. It knows
// nothing of what they are.
package blob

import (
	"context"
	"errors"
	"io"
)

// Store keeps blobs. An id is written once, except that Put can replace a blob by
// a sealed one. It is safe for concurrent use.
type Store interface {
	// Put stores what r yields, durably once it returns. Readers of a blob that it
	// replaces still read the former one.
	Put(ctx context.Context, id string, r io.Reader) error
	// Open returns a blob for reading, or ErrNotFound.
	Open(ctx context.Context, id string) (io.ReadCloser, error)
	// Delete removes a blob; one that isn't there is no error.
	Delete(ctx context.Context, id string) error
}

// ErrNotFound says that there is no blob of that id.
var ErrNotFound = errors.New("blob not found")
