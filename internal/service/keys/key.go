// Package keys holds the use cases of API keys: making, changing, rotating and
// deleting them, and authenticating requests by them.
package keys

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/audit"
)

// Config is what API keys need.
type Config struct {
	DB     *db.DB
	Clock  domain.Clock
	Logger *slog.Logger
	Audit  *audit.Service
}

// Service holds the use cases of API keys. It is safe for concurrent use.
type Service struct {
	Config
	uses *uses
}

// New returns a Service.
func New(c Config) *Service { return &Service{Config: c, uses: newUses()} }

var errKeyNotFound = domain.Errorf(domain.CodeNotFound, "There is no API key with this id in this account and mode.")

// List lists the scope's keys, expired ones included, newest first.
func (s *Service) List(ctx context.Context, scope domain.Scope) ([]domain.APIKey, error) {
	return s.DB.APIKeys(ctx, scope, false)
}

// ListAll lists the scope's keys, expired and deleted ones included: the request
// log may name them.
func (s *Service) ListAll(ctx context.Context, scope domain.Scope) ([]domain.APIKey, error) {
	return s.DB.APIKeys(ctx, scope, true)
}

// Params are what a new API key is created with.
type Params struct {
	Name        string
	Permissions domain.Permissions // nil: full access (D29), of a staff user all that the role has (D93)
	ExpiresAt   *time.Time         // nil: never
	Networks    string             // addresses and CIDR networks, one a line; "" for anywhere
}

// maxKeyYears is the longest life of a key that expires.
const maxKeyYears = 10

// maxKeys is how many keys an account and mode can have, expired ones included. Pages read them
// all.
const maxKeys = 100

// maxNetworks is how many networks a key can allow.
const maxNetworks = 50

// Create makes a key in the scope and returns it with its text, which is shown
// once. Error: validation_error by field name, permissions,
// expires_at or networks, and on name if there are maxKeys.
func (s *Service) Create(ctx context.Context, scope domain.Scope, by domain.Actor, params Params) (domain.APIKey, string, error) {
	now := s.Clock.Now()
	row, text := domain.NewAPIKey(scope, "", now)
	if err := params.apply(&row, by, now); err != nil {
		return domain.APIKey{}, "", err
	}
	row.CreatedBy = by.Name
	err := s.DB.InTx(ctx, func(tx *db.Tx) error {
		if err := oneMore(ctx, tx, scope, "name"); err != nil {
			return err
		}
		return s.storeKey(ctx, tx, &row, by)
	})
	return row, text, err
}

// oneMore refuses a key beyond maxKeys. Until the transaction ends no other one is made.
func oneMore(ctx context.Context, tx *db.Tx, scope domain.Scope, field string) error {
	if err := tx.LockTeam(ctx, scope.AccountID); err != nil {
		return db.MissingAs(err, domain.ErrAccountNotFound)
	}
	n, err := tx.CountAPIKeys(ctx, scope)
	if err == nil && n >= maxKeys {
		return domain.Breaks(domain.CodeValidation, field, form.Rule{Code: "key_count", Max: maxKeys})
	}
	return err
}

// apply gives the key what the actor asks for, or returns what is wrong with it.
func (p Params) apply(k *domain.APIKey, by domain.Actor, now time.Time) error {
	name, brokenName := cleanName(p.Name)
	networks, brokenNetworks := parseNetworks(p.Networks)
	grantable := grantableBy(by)
	if p.Permissions == nil {
		p.Permissions = grantable
	}
	var brokenPermissions, brokenExpiry form.Rule
	if p.Permissions != nil && len(p.Permissions) == 0 {
		brokenPermissions = form.Rule{Code: "permissions"}
	}
	for _, granted := range p.Permissions {
		if !grantable.Allow(granted) {
			brokenPermissions = form.Rule{Code: "permission_of_role", Value: string(granted)}
		}
		if !slices.Contains(domain.AllPermissions, granted) {
			brokenPermissions = form.Rule{Code: "permission", Value: string(granted)}
		}
	}
	if p.ExpiresAt != nil && !p.ExpiresAt.After(now) {
		brokenExpiry = form.Rule{Code: "expiry_ahead"}
	}
	if p.ExpiresAt != nil && p.ExpiresAt.Year() > now.Year()+maxKeyYears {
		brokenExpiry = form.Rule{Code: "expiry_near", Max: maxKeyYears}
	}
	k.Name, k.Permissions, k.ExpiresAt, k.Networks = name, p.Permissions, p.ExpiresAt, networks
	return domain.Invalid(form.Error{Field: "name", Rule: brokenName}, form.Error{Field: "permissions", Rule: brokenPermissions},
		form.Error{Field: "expires_at", Rule: brokenExpiry}, form.Error{Field: "networks", Rule: brokenNetworks})
}

// grantableBy is what the actor can give a key: all of it unless it is a staff user (D93).
func grantableBy(by domain.Actor) domain.Permissions {
	switch {
	case by.Kind != domain.ActorStaff:
		return nil
	case by.Staff == nil:
		return domain.Permissions{}
	}
	return by.Staff.Grantable()
}

// errMoreThanRole refuses to change a key that can do more than the actor, or to show the
// text of its replacement.
var errMoreThanRole = domain.Errorf(domain.CodeForbidden,
	"This API key can do more than your role. Ask an owner to change or rotate it. If it leaked, delete it.")

// CreateFirst makes a scope's first key, with full access, in the transaction
// that opens the account. It returns the key's text, which is shown once.
func (s *Service) CreateFirst(ctx context.Context, tx *db.Tx, scope domain.Scope, by domain.Actor) (text string, err error) {
	row, text := domain.NewAPIKey(scope, "First key", s.Clock.Now())
	row.CreatedBy = by.Name
	return text, s.storeKey(ctx, tx, &row, by)
}

// storeKey stores a new key, with an audit entry.
func (s *Service) storeKey(ctx context.Context, tx *db.Tx, row *domain.APIKey, by domain.Actor) error {
	if err := tx.InsertAPIKey(ctx, row); err != nil {
		return err
	}
	e := entryOf(domain.AuditKeyCreated, row)
	e.After = stateOf(row)
	return s.Audit.Record(ctx, tx, row.AccountID, by, e)
}

func cleanName(text string) (name string, broken form.Rule) {
	name, broken = form.CleanLine(text, domain.MaxName)
	switch {
	case broken.Code != "":
		broken.Of = "name"
	case name == "":
		broken = form.Rule{Code: "key_name"}
	}
	return name, broken
}

// mappedBits are those before the IPv4 address in an IPv4-mapped IPv6 address.
const mappedBits = 96

func parseNetworks(text string) (out []netip.Prefix, broken form.Rule) {
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' || r == ',' || r == ' ' }) {
		p, err := netip.ParsePrefix(line)
		if err != nil {
			addr, addrErr := netip.ParseAddr(line)
			if addrErr != nil || addr.Zone() != "" {
				return nil, form.Rule{Code: "network", Value: fmt.Sprintf("%.60q", line)}
			}
			p = netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen())
		}
		if p.Addr().Is4In6() { // clients are known by their IPv4 addresses
			if p.Bits() < mappedBits {
				return nil, form.Rule{Code: "mapped_network", Value: fmt.Sprintf("%.60q", line)}
			}
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-mappedBits)
		}
		out = append(out, p.Masked())
	}
	if len(out) > maxNetworks {
		return nil, form.Rule{Code: "network_count", Max: maxNetworks}
	}
	return out, form.Rule{}
}

// entryOf is an action on a key, which is known by its name and last 4
// characters.
func entryOf(action domain.AuditAction, k *domain.APIKey) audit.Entry {
	return audit.Entry{Action: action, Livemode: &k.Livemode, TargetID: k.ID.String(), TargetName: k.Name + " …" + k.Last4}
}

// stateOf is what the audit log says of a key.
func stateOf(k *domain.APIKey) map[string]any {
	state := map[string]any{"name": k.Name, "permissions": "full access"}
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

// Change gives a key of the scope another name, permissions, networks and end, which hold
// from the next request on (D117). Errors: validation_error as of Create, not_found, also
// for a key that has expired or was rotated, forbidden if the key can do more than the
// actor.
func (s *Service) Change(ctx context.Context, scope domain.Scope, by domain.Actor, id domain.KeyID, params Params) error {
	return s.changeKey(ctx, scope, id, func(tx *db.Tx, k *domain.APIKey) error {
		now := s.Clock.Now()
		if k.ReplacedAt != nil || k.ExpiresAt != nil && !k.ExpiresAt.After(now) {
			return errKeyNotFound
		}
		if !grantableBy(by).Cover(k.Permissions) {
			return errMoreThanRole
		}
		changed := *k
		if err := params.apply(&changed, by, now); err != nil {
			return err
		}
		e := entryOf(domain.AuditKeyChanged, k)
		e.Before, e.After = stateOf(k), stateOf(&changed)
		if err := tx.UpdateAPIKey(ctx, &changed); err != nil {
			return err
		}
		tx.Announce(scope, domain.EventRecorded, nil) // a request that waits for events is authenticated again
		return s.Audit.Record(ctx, tx, scope.AccountID, by, e)
	})
}

// Overlaps are how long a key can work beside its replacement (D29).
var Overlaps = []time.Duration{0, time.Hour, 24 * time.Hour, 7 * 24 * time.Hour}

// A Rotation is a key that replaces another.
type Rotation struct {
	Key      domain.APIKey
	Text     string // of the new key, shown this once
	OldUntil time.Time
	Again    bool // the old one was rotated before, and that replacement exists
}

// Rotate makes a replacement for a key. The old key works for overlap more, one of
// Overlaps, but not past its original expiry date. The replacement keeps that date.
// If the replacement is lost, rotate the old key again. Errors: validation_error on
// overlap, also if there are maxKeys, not_found, also for a key that has expired, forbidden if the key can do more
// than the actor.
func (s *Service) Rotate(ctx context.Context, scope domain.Scope, by domain.Actor, id domain.KeyID,
	overlap time.Duration) (r Rotation, err error) {
	err = s.changeKey(ctx, scope, id, func(tx *db.Tx, old *domain.APIKey) error {
		now := s.Clock.Now()
		if old.ExpiresAt != nil && !old.ExpiresAt.After(now) {
			return errKeyNotFound
		}
		if !grantableBy(by).Cover(old.Permissions) {
			return errMoreThanRole
		}
		if !slices.Contains(Overlaps, overlap) {
			return domain.Breaks(domain.CodeValidation, "overlap", form.Rule{Code: "overlap"})
		}
		if err := oneMore(ctx, tx, scope, "overlap"); err != nil {
			return err
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
		e := entryOf(domain.AuditKeyRotated, old)
		e.After = map[string]any{"new_key": r.Key.ID, "expires_at": r.OldUntil}
		return s.Audit.Record(ctx, tx, scope.AccountID, by, e)
	})
	return r, err
}

// Delete deletes a key of the scope, once its name has been typed: it
// stops working at once, in every process. Errors: validation_error on
// typed_name, not_found.
func (s *Service) Delete(ctx context.Context, scope domain.Scope, by domain.Actor, id domain.KeyID, typedName string) error {
	return s.changeKey(ctx, scope, id, func(tx *db.Tx, k *domain.APIKey) error {
		if strings.TrimSpace(typedName) != k.Name {
			return domain.Breaks(domain.CodeValidation, "typed_name", form.Rule{Code: "typed_name", Value: k.Name})
		}
		if err := tx.DeleteAPIKey(ctx, id, s.Clock.Now()); err != nil {
			return err
		}
		tx.Announce(scope, domain.EventRecorded, nil) // a request that waits for events with the key ends now
		e := entryOf(domain.AuditKeyDeleted, k)
		e.Before = stateOf(k)
		return s.Audit.Record(ctx, tx, scope.AccountID, by, e)
	})
}

func (s *Service) changeKey(ctx context.Context, scope domain.Scope, id domain.KeyID,
	change func(tx *db.Tx, k *domain.APIKey) error) error {
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		k, err := tx.APIKey(ctx, scope, id)
		if err != nil {
			return db.MissingAs(err, errKeyNotFound)
		}
		return change(tx, k)
	})
}
