package keys

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"candor/db"
	"candor/internal/domain"
)

// Authenticate returns the principal of an API key that a client at the address
// sent. Errors: invalid_api_key, and forbidden from an address that the key doesn't
// allow. With an error the principal still says whose key it is or was; its KeyID
// is zero if that isn't known.
func (s *Service) Authenticate(ctx context.Context, key, address string) (domain.Principal, error) {
	if !domain.WellFormedAPIKey(key) {
		return domain.Principal{}, domain.Errorf(domain.CodeInvalidAPIKey, "%s", malformed(key))
	}
	hash, now := domain.HashAPIKey(key), s.Clock.Now()
	found, err := s.DB.Principal(ctx, hash[:], now)
	if errors.Is(err, db.ErrNotFound) {
		return domain.Principal{}, domain.Errorf(domain.CodeInvalidAPIKey,
			"This API key isn’t known here. It belongs to another server, such as a staging one, or was deleted long ago.")
	}
	if err != nil {
		return domain.Principal{}, err
	}
	return found.Principal, s.admit(ctx, &found, address, now)
}

// AuthenticateFor is Authenticate that also reads the session that the request asks for,
// in the same statement. The session is nil if the key's account and mode have none of
// that id.
func (s *Service) AuthenticateFor(ctx context.Context, key, address string, id domain.SessionID) (domain.Principal,
	*domain.Session, error) {
	if domain.WellFormedAPIKey(key) {
		hash, now := domain.HashAPIKey(key), s.Clock.Now()
		found, session, err := s.DB.PrincipalAndSession(ctx, hash[:], now, id)
		if err == nil {
			session.Status = session.StatusAt(now)
			return found.Principal, session, s.admit(ctx, &found, address, now)
		}
		if !errors.Is(err, db.ErrNotFound) {
			return domain.Principal{}, nil, err
		}
	}
	principal, err := s.Authenticate(ctx, key, address)
	return principal, nil, err
}

// admit refuses a key that has ended or may not be used from the address, and notes the
// use of any other.
func (s *Service) admit(ctx context.Context, found *db.FoundKey, address string, now time.Time) error {
	switch {
	case found.Ended:
		return domain.Errorf(domain.CodeInvalidAPIKey,
			"This API key has expired, or was deleted or rotated. Use another one of the dashboard.")
	case !within(found.Networks, address):
		return domain.Errorf(domain.CodeForbidden,
			"This API key may not be used from %s. Add the address to the key in the dashboard, or use another key.", address)
	}
	if minute, first := s.uses.first(found.KeyID, now); first {
		if err := s.DB.UseAPIKey(ctx, found.KeyID, minute, address); err != nil {
			s.Logger.ErrorContext(ctx, "note the use of an API key", "error", err) // the request is served all the same
		}
	}
	return nil
}

// malformed says why a text is no API key, without repeating it.
func malformed(key string) string {
	switch {
	case strings.HasPrefix(key, "whsec_"):
		return "This is a webhook secret. API keys begin with candor_test_ or candor_live_."
	case strings.ContainsAny(key, "…•*") || strings.Contains(key, "..."):
		return "A part of this API key is left out, as in examples and in the dashboard. Send the whole key, which was shown when it was created."
	case strings.ContainsAny(key, "$<>{}\"'`"), unfilled(key):
		return "This looks like a placeholder, or like a key in quotes. Send the key alone: it begins with candor_test_ or candor_live_."
	case !strings.HasPrefix(key, "candor_"):
		return "This is no API key of Candor. Those begin with candor_test_ or candor_live_."
	}
	return "This API key is mistyped or cut off: its checksum is wrong. Copy it again from where you keep it."
}

// unfilled reports whether a key has words, as in candor_test_YOUR_KEY, or one letter again
// and again where a key has random letters and digits.
func unfilled(key string) bool {
	parts := strings.SplitN(key, "_", 3)
	if len(parts) < 3 || parts[0] != "candor" || len(parts[2]) < 2 {
		return false
	}
	random := parts[2]
	return strings.Contains(random, "_") || strings.Trim(random, random[:1]) == ""
}

// within reports whether the address is in one of the networks, any for none.
func within(networks []netip.Prefix, address string) bool {
	if len(networks) == 0 {
		return true
	}
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(ip.Unmap().WithZone("")) })
}

// keysRemembered is how many keys' last uses a process remembers.
const keysRemembered = 10_000

// uses says which use of a key is the first of its minute in this process, so that
// one request a minute and key records it.
type uses struct {
	seen *lru.Cache[domain.KeyID, time.Time]
}

func newUses() *uses {
	seen, err := lru.New[domain.KeyID, time.Time](keysRemembered)
	if err != nil {
		panic(err) // only a size below 1 fails
	}
	return &uses{seen}
}

// first returns the minute of now, and whether the key wasn't used in it yet.
// Of two requests at once both may be the first: what they write is the same.
func (u *uses) first(id domain.KeyID, now time.Time) (minute time.Time, first bool) {
	minute = now.Truncate(time.Minute)
	if last, ok := u.seen.Get(id); ok && !last.Before(minute) {
		return minute, false
	}
	u.seen.Add(id, minute)
	return minute, true
}
