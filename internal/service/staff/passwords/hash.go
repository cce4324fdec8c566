// Package passwords hashes and verifies passwords, a few at a time, and says
// which ones are too easily guessed. It knows no database.
package passwords

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/argon2"

	"candor/internal/domain"
)

const (
	argonThreads = 1
	argonKeyLen  = 32
	argonSaltLen = 16
)

// Cost is what Argon2id takes to hash a password. The zero value stands
// for what OWASP recommends: t=2, m=19 MiB, p=1.
type Cost struct {
	Time   uint32
	Memory uint32 // KiB
}

var owaspCost = Cost{Time: 2, Memory: 19 * 1024}

// maxPassword is the longest password that is hashed, in bytes: more than any
// sentence, and too little to keep a core busy with.
const maxPassword = 1024

// A Queue bounds how many passwords are hashed: each takes 19 MiB and
// a core for some 20 ms, and anyone can ask for it without signing in. There are
// two such queues, one for strangers and one for people whom Candor knows, so
// that a flood of strangers delays none of them.
type Queue struct {
	AtOnce  int // zero: half of the cores, at most 4
	Waiting int // more than these are refused; zero: 8
}

func (q Queue) places() *places {
	if q.AtOnce == 0 {
		q.AtOnce = max(1, min(4, runtime.GOMAXPROCS(0)/2))
	}
	if q.Waiting == 0 {
		q.Waiting = 8
	}
	return &places{all: make(chan struct{}, q.AtOnce+q.Waiting), running: make(chan struct{}, q.AtOnce)}
}

// places are one queue's: all of them, and the ones that are hashing.
type places struct{ all, running chan struct{} }

// Hasher hashes passwords, a few at once.
type Hasher struct {
	cost             Cost
	strangers, known *places
	dummy            func() string // a hash to compare with if there is none
}

// NewHasher returns a Hasher.
func NewHasher(cost Cost, queue Queue) *Hasher {
	if cost == (Cost{}) {
		cost = owaspCost
	}
	p := &Hasher{cost: cost, strangers: queue.places(), known: queue.places()}
	p.dummy = sync.OnceValue(func() string { return hashPassword(Random(), cost) })
	return p
}

// errBusy refuses what the queue has no place for.
var errBusy = &domain.Error{
	Code: domain.CodeServiceUnavailable, Message: "Candor is busy. Try again in a few seconds.", RetryAfter: 5 * time.Second,
}

// A Turn is a place in a queue. Take it before any work that a full queue would
// waste, hold no database connection while it hashes, and leave it.
type Turn struct {
	*Hasher
	places *places
}

// Known takes a place among the people whom Candor knows. Error:
// service_unavailable if there is none.
func (h *Hasher) Known() (*Turn, error) { return h.queue(h.known) }

// Strangers takes a place among everyone else. Error: service_unavailable if
// there is none.
func (h *Hasher) Strangers() (*Turn, error) { return h.queue(h.strangers) }

// queue takes a place among the strangers, or among the known. Error:
// service_unavailable if there is none.
func (h *Hasher) queue(among *places) (*Turn, error) {
	select {
	case among.all <- struct{}{}:
		return &Turn{h, among}, nil
	default:
		return nil, errBusy
	}
}

// Leave gives the turn back.
func (h *Turn) Leave() { <-h.places.all }

// Hash returns the password's Argon2id hash as a PHC string, or the context's
// error.
func (h *Turn) Hash(ctx context.Context, password string) (string, error) {
	done, err := h.wait(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	return hashPassword(password, h.cost), nil
}

// Verify reports whether the password made the PHC string. Without one it is
// false and takes as long, however long the password is.
func (h *Turn) Verify(ctx context.Context, phc, password string) (bool, error) {
	done, err := h.wait(ctx)
	if err != nil {
		return false, err
	}
	defer done()
	known := phc != ""
	if !known {
		phc = h.dummy()
	}
	right := Verify(phc, password[:min(len(password), maxPassword)])
	return right && known && len(password) <= maxPassword, nil
}

func (h *Turn) wait(ctx context.Context) (done func(), err error) {
	select {
	case h.places.running <- struct{}{}:
		return func() { <-h.places.running }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Random returns 120 random bits.
func Random() string {
	b := make([]byte, 15)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// HashNow returns the password's hash without waiting for a turn: for
// operators' commands.
func (h *Hasher) HashNow(password string) string { return hashPassword(password, h.cost) }

// hashPassword returns the password's Argon2id hash as a PHC string.
func hashPassword(password string, cost Cost) string {
	salt := make([]byte, argonSaltLen)
	_, _ = rand.Read(salt) // never fails
	key := argon2.IDKey([]byte(password), salt, cost.Time, cost.Memory, argonThreads, argonKeyLen)
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, cost.Memory, cost.Time, argonThreads,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(key))
}

// Verify reports whether the password made the PHC string.
func Verify(phc, password string) bool {
	var version, memory, time, threads int
	var rest string
	if n, err := fmt.Sscanf(phc, "$argon2id$v=%d$m=%d,t=%d,p=%d$%s", &version, &memory, &time, &threads, &rest); n != 5 ||
		err != nil {
		return false
	}
	saltText, keyText, _ := strings.Cut(rest, "$")
	salt, saltErr := base64.RawStdEncoding.DecodeString(saltText)
	key, keyErr := base64.RawStdEncoding.DecodeString(keyText)
	if saltErr != nil || keyErr != nil || len(key) == 0 {
		return false
	}
	got := argon2.IDKey([]byte(password), salt, uint32(time), uint32(memory), uint8(threads), uint32(len(key)))
	return subtle.ConstantTimeCompare(got, key) == 1
}
