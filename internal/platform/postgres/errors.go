package postgres

import (
	"database/sql/driver"
	"errors"
	"net"

	"github.com/lib/pq"
)

// CodeReadOnlyTransaction is the SQLSTATE of a write that the server doesn't take.
const CodeReadOnlyTransaction = "25006"

// SQLSTATE codes, PostgreSQL's appendix A.
const (
	codeFeatureNotSupported  = "0A000"
	codeInvalidStatementName = "26000"
)

// ErrNotConnected is in the error of a connection that can't be opened.
var ErrNotConnected = errors.New("no connection to PostgreSQL")

// Lost reports whether err says that the connection was lost, by a FATAL such as
// 57P01 (admin_shutdown) too, or that its server takes no writes, as a former primary
// does. lib/pq returns driver.ErrBadConn for FATAL errors.
func Lost(err error) bool {
	if IsReadOnly(err) {
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

// IsReadOnly reports whether err says that the server takes no writes.
func IsReadOnly(err error) bool {
	var e *pq.Error
	return errors.Is(err, errReadOnlyServer) || errors.As(err, &e) && e.Code == CodeReadOnlyTransaction
}

// IsStalePlan reports whether a prepared statement no longer fits the schema
// ("cached plan must not change result type", known by the server's routine
// since the code is shared) or no longer exists.
func IsStalePlan(e *pq.Error) bool {
	return e.Code == codeInvalidStatementName ||
		e.Code == codeFeatureNotSupported && e.Routine == "RevalidateCachedQuery"
}
