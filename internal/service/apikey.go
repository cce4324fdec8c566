package service

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
)

var errKeyNotFound = domain.Errorf(domain.CodeNotFound, "There is no API key with this id in this account and mode.")

// Authenticate returns who an API key stands for that a client at that address
// has sent. Errors: invalid_api_key, and forbidden from an address that the key
// isn't for; with them, the principal says whose key it is or was, and has no
// KeyID where that isn't known.
func (s *Service) Authenticate(ctx context.Context, key, address string) (domain.Principal, error) {
	invalid := domain.Errorf(domain.CodeInvalidAPIKey, "The API key is invalid or revoked.")
	if !domain.WellFormedAPIKey(key) {
		return domain.Principal{}, invalid
	}
	hash, now := domain.HashAPIKey(key), s.Clock.Now()
	found, err := s.DB.Principal(ctx, hash[:], now)
	switch {
	case errors.Is(err, db.ErrNotFound):
		return domain.Principal{}, invalid
	case err != nil:
		return domain.Principal{}, err
	case found.Ended:
		return found.Principal, invalid
	case !within(found.Networks, address):
		return found.Principal, domain.Errorf(domain.CodeForbidden,
			"This API key may not be used from %s. Add the address to the key in the dashboard, or use another key.", address)
	}
	if minute, first := s.keyUses.first(found.KeyID, now); first {
		if err := s.DB.UseAPIKey(ctx, found.KeyID, minute, address); err != nil {
			s.Logger.ErrorContext(ctx, "note the use of an API key", "error", err) // no reason to refuse the request
		}
	}
	return found.Principal, nil
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

// APIKeys lists the scope's keys, those that have expired too, newest first.
func (s *Service) APIKeys(ctx context.Context, scope domain.Scope) ([]domain.APIKey, error) {
	return s.DB.APIKeys(ctx, scope, false)
}

// NewKey is what is asked of a new API key.
type NewKey struct {
	Name        string
	Permissions domain.Permissions // nil: full access (D29)
	ExpiresAt   *time.Time         // nil: never
	Networks    string             // addresses and CIDR networks, one a line; "" for anywhere
}

// maxKeyYears is for how long a key with an end can be made.
const maxKeyYears = 10

// maxNetworks is how many networks a key can be for.
const maxNetworks = 50

// CreateAPIKey makes a key in the scope and returns it with its text, which
// is shown this once. Error: validation_error by field name, permissions,
// expires_at or networks.
func (s *Service) CreateAPIKey(ctx context.Context, scope domain.Scope, by domain.Actor, wish NewKey) (domain.APIKey, string, error) {
	now := s.Clock.Now()
	name, nameProblem := keyName(wish.Name)
	networks, networksProblem := parseNetworks(wish.Networks)
	permissionsProblem, expiryProblem := "", ""
	if wish.Permissions != nil && len(wish.Permissions) == 0 {
		permissionsProblem = "Choose at least one permission, or full access"
	}
	for _, p := range wish.Permissions {
		if !slices.Contains(domain.AllPermissions, p) {
			permissionsProblem = "There is no permission " + string(p)
		}
	}
	if wish.ExpiresAt != nil && !wish.ExpiresAt.After(now) {
		expiryProblem = "Choose a day after today"
	}
	if wish.ExpiresAt != nil && wish.ExpiresAt.Year() > now.Year()+maxKeyYears {
		expiryProblem = "Choose a day within the next 10 years, or none"
	}
	err := fieldProblems(field{"name", nameProblem}, field{"permissions", permissionsProblem}, field{"expires_at", expiryProblem}, field{"networks", networksProblem})
	if err != nil {
		return domain.APIKey{}, "", err
	}
	row, text := domain.NewAPIKey(scope, name, now)
	row.Permissions, row.ExpiresAt, row.Networks, row.CreatedBy = wish.Permissions, wish.ExpiresAt, networks, by.Name
	err = s.DB.InTx(ctx, func(tx *db.Tx) error { return s.storeKey(ctx, tx, &row, by) })
	return row, text, err
}

// storeKey stores a new key, which the audit log tells of.
func (s *Service) storeKey(ctx context.Context, tx *db.Tx, row *domain.APIKey, by domain.Actor) error {
	if err := tx.InsertAPIKey(ctx, row); err != nil {
		return err
	}
	d := keyDeed(domain.AuditKeyCreated, row)
	d.After = keyState(row)
	return s.audit(ctx, tx, row.AccountID, by, d)
}

func keyName(text string) (name, problem string) {
	name, problem = form.CleanText(text, maxName)
	switch {
	case problem != "":
		return "", "The name " + problem
	case name == "":
		return "", "Enter a name, such as the program that will use the key"
	}
	return name, ""
}

// mappedBits are those before the IPv4 address in an IPv4-mapped IPv6 address.
const mappedBits = 96

func parseNetworks(text string) (out []netip.Prefix, problem string) {
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' || r == ',' || r == ' ' }) {
		p, err := netip.ParsePrefix(line)
		if err != nil {
			addr, addrErr := netip.ParseAddr(line)
			if addrErr != nil || addr.Zone() != "" {
				return nil, fmt.Sprintf("%.60q is no address such as 203.0.113.7 and no network such as 203.0.113.0/24", line)
			}
			p = netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen())
		}
		if p.Addr().Is4In6() { // clients are known by their IPv4 addresses
			if p.Bits() < mappedBits {
				return nil, fmt.Sprintf("%.60q holds more than IPv4 addresses; write the IPv4 network as in 203.0.113.0/24", line)
			}
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-mappedBits)
		}
		out = append(out, p.Masked())
	}
	if len(out) > maxNetworks {
		return nil, fmt.Sprintf("A key can have at most %d addresses and networks", maxNetworks)
	}
	return out, ""
}

// keyDeed is an action on a key, which is known by its name and last 4
// characters.
func keyDeed(action domain.AuditAction, k *domain.APIKey) deed {
	return deed{Action: action, Livemode: &k.Livemode, TargetID: k.ID.String(), TargetName: k.Name + " …" + k.Last4}
}

// keyState is what the audit log says of a key.
func keyState(k *domain.APIKey) map[string]any {
	state := map[string]any{"permissions": "full access"}
	if k.Permissions != nil {
		state["permissions"] = k.Permissions
	}
	if k.ExpiresAt != nil {
		state["expires_at"] = k.ExpiresAt
	}
	if len(k.Networks) > 0 {
		state["networks"] = k.Networks
	}
	return state
}

// RenameAPIKey gives a key of the scope another name. Errors: validation_error
// on name, not_found.
func (s *Service) RenameAPIKey(ctx context.Context, scope domain.Scope, by domain.Actor, id domain.KeyID, name string) error {
	return s.changeKey(ctx, scope, id, func(tx *db.Tx, k *domain.APIKey) error {
		name, problem := keyName(name)
		if problem != "" {
			return domain.FieldError(domain.CodeValidation, "name", problem)
		}
		d := keyDeed(domain.AuditKeyRenamed, k)
		d.Before, d.After = map[string]string{"name": k.Name}, map[string]string{"name": name}
		if err := tx.RenameAPIKey(ctx, id, name); err != nil {
			return err
		}
		return s.audit(ctx, tx, scope.AccountID, by, d)
	})
}

// KeyOverlaps are for how long a key can live on beside the one that takes its
// place (D29).
var KeyOverlaps = []time.Duration{0, time.Hour, 24 * time.Hour, 7 * 24 * time.Hour}

// A Rotation is a key that takes another's place.
type Rotation struct {
	Key      domain.APIKey
	Text     string // of the new key, shown this once
	OldUntil time.Time
	Again    bool // the old one was replaced before: that key is there, too
}

// RotateAPIKey makes a key like the given one; the old one lives on for overlap
// from now, one of KeyOverlaps, though not past the end that it was meant to
// have. The new one has that end, too, also where the old one is being replaced
// already: so whoever missed the new key makes another. Errors:
// validation_error on overlap, not_found, also for a key that has expired.
func (s *Service) RotateAPIKey(ctx context.Context, scope domain.Scope, by domain.Actor, id domain.KeyID, overlap time.Duration) (r Rotation, err error) {
	err = s.changeKey(ctx, scope, id, func(tx *db.Tx, old *domain.APIKey) error {
		now := s.Clock.Now()
		if old.ExpiresAt != nil && !old.ExpiresAt.After(now) {
			return errKeyNotFound
		}
		if !slices.Contains(KeyOverlaps, overlap) {
			return domain.FieldError(domain.CodeValidation, "overlap", "Choose for how long the old key works")
		}
		r = Rotation{OldUntil: now.Add(overlap), Again: old.ReplacedAt != nil}
		r.Key, r.Text = domain.NewAPIKey(scope, old.Name, now)
		r.Key.Permissions, r.Key.Networks, r.Key.ExpiresAt, r.Key.CreatedBy = old.Permissions, old.Networks, old.MeantExpiry, by.Name
		if err := tx.InsertAPIKey(ctx, &r.Key); err != nil {
			return err
		}
		if old.MeantExpiry != nil && old.MeantExpiry.Before(r.OldUntil) {
			r.OldUntil = *old.MeantExpiry
		}
		if err := tx.ReplaceAPIKey(ctx, id, now, r.OldUntil); err != nil {
			return err
		}
		d := keyDeed(domain.AuditKeyRotated, old)
		d.After = map[string]any{"new_key": r.Key.ID, "expires_at": r.OldUntil}
		return s.audit(ctx, tx, scope.AccountID, by, d)
	})
	return r, err
}

// DeleteAPIKey deletes a key of the scope, once its name has been typed: it
// stops working at once, in every process. Errors: validation_error on
// typed_name, not_found.
func (s *Service) DeleteAPIKey(ctx context.Context, scope domain.Scope, by domain.Actor, id domain.KeyID, typedName string) error {
	return s.changeKey(ctx, scope, id, func(tx *db.Tx, k *domain.APIKey) error {
		if strings.TrimSpace(typedName) != k.Name {
			return domain.FieldError(domain.CodeValidation, "typed_name", "Type the key’s name as it is shown, “"+k.Name+"”")
		}
		if err := tx.DeleteAPIKey(ctx, id, s.Clock.Now()); err != nil {
			return err
		}
		d := keyDeed(domain.AuditKeyDeleted, k)
		d.Before = keyState(k)
		return s.audit(ctx, tx, scope.AccountID, by, d)
	})
}

func (s *Service) changeKey(ctx context.Context, scope domain.Scope, id domain.KeyID, change func(tx *db.Tx, k *domain.APIKey) error) error {
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		k, err := tx.APIKey(ctx, scope, id)
		if err != nil {
			return orCode(err, errKeyNotFound)
		}
		return change(tx, k)
	})
}
