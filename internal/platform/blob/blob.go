// Package blob keeps the bytes of uploaded documents by their id. It knows
// nothing of what they are.
package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"syscall"
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

// A Place is where blobs are: a folder or a bucket. Blobs can be moved from one to
// another.
type Place interface {
	Store
	// Add is Put of a blob that isn't there, or ErrExists. It can be ErrNotFound if
	// the blob is deleted at the same time.
	Add(ctx context.Context, id string, r io.Reader) error
	// List yields all blobs, in no order. An error is its last element. What is
	// added or deleted while it runs may be yielded or not.
	List(ctx context.Context) iter.Seq2[Info, error]
}

// Info describes a blob.
type Info struct {
	ID   string
	Size int64 // bytes
}

// ErrExists says that there is a blob of that id.
var ErrExists = errors.New("blob exists")

// ErrUnavailable says that a place of blobs can't be used now. It may be back soon.
var ErrUnavailable = errors.New("the place of blobs is unavailable")

// storeError is the error of a blob that couldn't be written. A full disk may have room
// again soon.
func storeError(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return unavailable("store blob", err)
	}
	return fmt.Errorf("store blob: %w", err)
}

// ErrNotFound says that there is no blob of that id.
var ErrNotFound = errors.New("blob not found")
