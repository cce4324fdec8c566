package db

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"

	"github.com/lib/pq"
)

// ErrNotFound is returned where a single row was asked for and there is none
// that the caller may see.
var ErrNotFound = errors.New("db: not found")

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

// IsUnavailable reports whether err says that the database cannot be reached or
// takes no work now (refused or broken connection, shutdown, start-up, too many
// connections), rather than that this statement was wrong. It is false for the
// caller's own context ending.
func IsUnavailable(err error) bool {
	var e *pq.Error
	if errors.As(err, &e) {
		switch e.Code {
		case "57P01", "57P02", "57P03", "57P05": // shutdown, crash, start-up, idle session
			return true
		case "53300", "53400": // too many connections, configured limit
			return true
		}
		return e.Code.Class() == "08" // connection exceptions
	}
	var op *net.OpError
	return errors.As(err, &op) ||
		errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
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
