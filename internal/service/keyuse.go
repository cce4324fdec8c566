package service

import (
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"candor/internal/domain"
)

// keysRemembered is how many keys' last uses a process remembers.
const keysRemembered = 10_000

// keyUses says which use of a key is the first of its minute in this process,
// so that one request a minute and key writes down that it is in use.
type keyUses struct {
	seen *lru.Cache[domain.KeyID, time.Time]
}

func newKeyUses() *keyUses {
	seen, err := lru.New[domain.KeyID, time.Time](keysRemembered)
	if err != nil {
		panic(err) // only a size below 1 fails
	}
	return &keyUses{seen}
}

// first returns the minute of now, and whether the key wasn't used in it yet.
// Of two requests at once both may be the first: what they write is the same.
func (u *keyUses) first(id domain.KeyID, now time.Time) (minute time.Time, first bool) {
	minute = now.Truncate(time.Minute)
	if last, ok := u.seen.Get(id); ok && !last.Before(minute) {
		return minute, false
	}
	u.seen.Add(id, minute)
	return minute, true
}
