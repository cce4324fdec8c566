package domain

import (
	"crypto/sha256"
	"encoding/hex"
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
	// LinkElsewhere is a link for one browser, in another one.
	LinkElsewhere LinkUseKind = "elsewhere"
)

// The bounds of what is kept of a link's uses.
const (
	LinkUseMost     = 1000        // times that are counted
	LinkUseBrowsers = 20          // browsers that are kept of a session
	LinkUseStep     = time.Minute // in which a browser's uses count once
)

// A Link is one of the links that open a session's form.
type Link struct {
	Version int // how often the session's link was renewed before
	// OneBrowser is true for those who may not read answers (D92): from the first save on
	// the link opens the form in the browser that saved last and in no other.
	OneBrowser bool
}

// oneBrowserMark stands before the version of a link for one browser.
const oneBrowserMark = "b"

// Subject is what the token of the link to a session stands for. The first version stands
// for itself.
func (l Link) Subject(id SessionID) string {
	switch {
	case l.OneBrowser:
		return id.String() + " " + oneBrowserMark + strconv.Itoa(l.Version)
	case l.Version == 0:
		return id.String()
	}
	return id.String() + " " + strconv.Itoa(l.Version)
}

// Write writes the link's token with its version.
func (l Link) Write(token string) string {
	switch {
	case l.OneBrowser:
		return oneBrowserMark + strconv.Itoa(l.Version) + "." + token
	case l.Version == 0:
		return token
	}
	return strconv.Itoa(l.Version) + "." + token
}

// URL is where the link leads, below a base URL without a slash at its end. token makes the
// token of a subject.
func (l Link) URL(base string, id SessionID, token func(subject string) string) string {
	return base + "/f/" + id.String() + "/" + l.Write(token(l.Subject(id)))
}

// ParseLink reads what Write writes. If it is malformed, the token is that of no link.
func ParseLink(text string) (l Link, token string) {
	number, token, has := strings.Cut(text, ".")
	if !has {
		return l, text
	}
	number, l.OneBrowser = strings.CutPrefix(number, oneBrowserMark)
	version, err := strconv.Atoi(number)
	if l.Version = version; err != nil || version < 0 || l.Write(token) != text {
		return Link{}, ""
	}
	return l, token
}

// A LinkHolder is a browser that opened a session's form by a link.
type LinkHolder struct {
	Link    Link
	Browser string // a secret of the browser; "" for none
}

// Mark is what is stored of the browser; "" for none.
func (h LinkHolder) Mark() string {
	if h.Browser == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(h.Browser))
	return hex.EncodeToString(sum[:])
}
