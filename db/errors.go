package db

import (
	"database/sql/driver"
	"errors"
	"net"

	"github.com/lib/pq"

	"candor/internal/domain"
)

// ErrNotFound is returned if the row that was asked for doesn't exist, or if the
// caller may not see it.
var ErrNotFound = errors.New("db: not found")

// ErrState is returned by a conditional change if its row isn't in the state
// that the change needs: it has ended, or another change was first. The change
// doesn't tell this from a row that never existed. Read the row to find out.
var ErrState = errors.New("db: not in the state that this change needs")

// CodeReadOnlyTransaction is the SQLSTATE of a write that the server doesn't take.
const CodeReadOnlyTransaction = "25006"

// SQLSTATE codes, PostgreSQL's appendix A.
const (
	codeFeatureNotSupported  = "0A000"
	codeInvalidStatementName = "26000"
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

// errNotConnected is in the error of a connection that can't be opened.
var errNotConnected = errors.New("no connection to PostgreSQL")

// isUnavailable reports whether err says that no server carries out the statement now:
// none can be reached, it was lost, it takes no writes, or it has no connection, memory
// or disk left (class 53).
func isUnavailable(err error) bool {
	if errors.Is(err, domain.ErrOutcomeUnknown) {
		return false
	}
	var e *pq.Error
	return errors.Is(err, errNotConnected) || serverLost(err) || errors.As(err, &e) && e.Code.Class() == "53"
}

// isRetryable reports whether the same transaction may succeed when repeated. The
// error of a lost connection must be from before the commit was sent.
func isRetryable(err error) bool {
	if serverLost(err) {
		return true
	}
	var e *pq.Error
	if !errors.As(err, &e) {
		return false
	}
	return e.Code == codeSerializationFailure || e.Code == codeDeadlockDetected || isStalePlan(e)
}

// serverLost reports whether err says that the connection was lost, by a FATAL such as
// 57P01 (admin_shutdown) too, or that its server takes no writes, as a former primary
// does. lib/pq returns driver.ErrBadConn for FATAL errors.
func serverLost(err error) bool {
	if isReadOnly(err) {
		return true
	}
	if errors.Is(err, net.ErrClosed) {
		return false // closed on this side, because a context ended
	}
	var op *net.OpError
	return errors.Is(err, driver.ErrBadConn) || errors.As(err, &op) && op.Op != "dial"
}

// errReadOnlyServer is the error of a server on which no transaction that writes begins.
var errReadOnlyServer = errors.New("the server takes no writes")

func isReadOnly(err error) bool {
	var e *pq.Error
	return errors.Is(err, errReadOnlyServer) || errors.As(err, &e) && e.Code == CodeReadOnlyTransaction
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
