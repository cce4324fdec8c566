package domain

import (
	"strconv"
	"strings"
	"time"
)

// A LinkUse is what was done with a session's link by one browser, or by all together
// if the browser isn't kept.
type LinkUse struct {
	Kind      LinkUseKind `db:"kind"`
	UserAgent string      `db:"user_agent"`
	Address   string      `db:"address"`
	Times     int         `db:"times"` // LinkUseMost and more are not told apart
	FirstAt   time.Time   `db:"first_at"`
	LastAt    time.Time   `db:"last_at"`
}

// A LinkUseKind is what was done with a link.
type LinkUseKind string

// The uses of links.
const (
	LinkOpened   LinkUseKind = "opened"
	LinkReplaced LinkUseKind = "replaced" // a link that was renewed since
	LinkWrong    LinkUseKind = "wrong"    // a link to the session with a wrong token
)

// The bounds of what is kept of a link's uses.
const (
	LinkUseMost     = 1000        // times that are counted
	LinkUseBrowsers = 20          // browsers that are kept of a session
	LinkUseStep     = time.Minute // in which a browser's uses count once
)

// LinkSubject is what the token of a session's link opens.
func LinkSubject(id SessionID, version int) string {
	if version == 0 {
		return id.String()
	}
	return id.String() + " " + strconv.Itoa(version)
}

// LinkToken writes a token with its version; the first version stands for itself.
func LinkToken(version int, token string) string {
	if version == 0 {
		return token
	}
	return strconv.Itoa(version) + "." + token
}

// ParseLinkToken reads what LinkToken writes. A malformed version is that of no link.
func ParseLinkToken(text string) (version int, token string) {
	number, token, has := strings.Cut(text, ".")
	if !has {
		return 0, text
	}
	version, err := strconv.Atoi(number)
	if err != nil || version < 1 || strconv.Itoa(version) != number {
		return 0, ""
	}
	return version, token
}
