package db

import (
	"errors"

	"github.com/lib/pq"

	"candor/internal/domain"
	"candor/internal/platform/postgres"
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
	codeSerializationFailure = "40001"
	codeDeadlockDetected     = "40P01"
	codeLockNotAvailable     = "55P03"
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

// errNoAnswer is in the error of a request whose patience with the database is over.
var errNoAnswer = errors.New("no answer from PostgreSQL")

// isUnavailable reports whether err says that no server carries out the statement now:
// none can be reached, it was lost, it takes no writes, or it has no connection, memory
// or disk left (class 53).
func isUnavailable(err error) bool {
	if errors.Is(err, domain.ErrOutcomeUnknown) {
		return false
	}
	var e *pq.Error
	return errors.Is(err, postgres.ErrNotConnected) || postgres.Lost(err) || errors.As(err, &e) && e.Code.Class() == "53"
}

// isRetryable reports whether the same transaction may succeed when repeated. The
// error of a lost connection must be from before the commit was sent.
func isRetryable(err error) bool {
	if postgres.Lost(err) {
		return true
	}
	var e *pq.Error
	if !errors.As(err, &e) {
		return false
	}
	return e.Code == codeSerializationFailure || e.Code == codeDeadlockDetected || postgres.IsStalePlan(e)
}

// MissingAs returns missing if a row is missing or not in the state that a
// change needs, and every other error as it is.
func MissingAs(err, missing error) error {
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrState) {
		return missing
	}
	return err
}
