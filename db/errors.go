package db

import (
	"errors"

	"github.com/lib/pq"
)

// ErrNotFound is returned if the row that was asked for doesn't exist, or if the
// caller may not see it.
var ErrNotFound = errors.New("db: not found")

// ErrState is returned by a conditional change if its row isn't in the state
// that the change needs: it has ended, or another change was first. The change
// doesn't tell this from a row that never existed. Read the row to find out.
var ErrState = errors.New("db: not in the state that this change needs")

// SQLSTATE codes, PostgreSQL's appendix A.
const (
	codeFeatureNotSupported  = "0A000"
	codeInvalidStatementName = "26000"
	codeSerializationFailure = "40001"
	codeDeadlockDetected     = "40P01"
	codeQueryCanceled        = "57014"
)

// ConstraintViolated reports whether err is the violation of the constraint or
// unique index of that name.
func ConstraintViolated(err error, name string) bool {
	var e *pq.Error
	return errors.As(err, &e) && e.Code.Class() == "23" && e.Constraint == name
}

// IsRefused reports whether the database refused the data itself, so that the
// same statement can never succeed.
func IsRefused(err error) bool {
	var e *pq.Error
	return errors.As(err, &e) && (e.Code.Class() == "22" || e.Code.Class() == "23")
}

// isRetryable reports whether the same transaction may succeed when repeated.
func isRetryable(err error) bool {
	var e *pq.Error
	if !errors.As(err, &e) {
		return false
	}
	return e.Code == codeSerializationFailure || e.Code == codeDeadlockDetected || isStalePlan(e)
}

// isStalePlan reports whether a prepared statement no longer fits the schema
// ("cached plan must not change result type", known by the server's routine
// since the code is shared) or no longer exists.
func isStalePlan(e *pq.Error) bool {
	return e.Code == codeInvalidStatementName ||
		e.Code == codeFeatureNotSupported && e.Routine == "RevalidateCachedQuery"
}

// MissingAs returns missing if a row is missing or not in the state that a
// change needs, and every other error as it is.
func MissingAs(err, missing error) error {
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrState) {
		return missing
	}
	return err
}
