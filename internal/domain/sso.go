package domain

import (
	"strings"
	"time"
)

// An SSOConnection is the OpenID Connect provider with which an account's staff
// sign in (D141).
type SSOConnection struct {
	AccountID    AccountID `db:"account_id"`
	Issuer       string    `db:"issuer"`
	ClientID     string    `db:"client_id"`
	ClientSecret []byte    `db:"client_secret"` // sealed for SSOSecretOwner
	DefaultRole  Role      `db:"default_role"`  // "": who has no group with a role isn't let in
	GroupsClaim  string    `db:"groups_claim"`  // "": roles are given in the dashboard
	GroupRoles   []byte    `db:"group_roles"`   // JSON of []GroupRole
	TrustsEmail  bool      `db:"trusts_email"`  // without email_verified
	OnlySSO      bool      `db:"only_sso"`
	CreatedAt    time.Time `db:"created_at"`
}

// A GroupRole is the role of the people in a group of the provider.
type GroupRole struct {
	Group string `json:"group"`
	Role  Role   `json:"role"`
}

// SSOSecretOwner names an account as the owner of its sealed client secret.
func SSOSecretOwner(id AccountID) string { return "sso client secret " + id.String() }

// An SSODomain is a domain whose addresses an account's provider speaks for, once it
// is verified.
type SSODomain struct {
	AccountID  AccountID  `db:"account_id"`
	Domain     string     `db:"domain"` // in small letters
	Token      string     `db:"token"`
	VerifiedAt *time.Time `db:"verified_at"`
}

// RecordName is where the DNS record of the domain is.
func (d *SSODomain) RecordName() string { return "_candor." + d.Domain }

// Record is the text of the DNS record that verifies the domain.
func (d *SSODomain) Record() string { return "candor-verification=" + d.Token }

// EmailDomain is the domain of an address in small letters.
func EmailDomain(email string) string {
	at := strings.LastIndexByte(email, '@')
	return strings.ToLower(strings.TrimSpace(email[at+1:]))
}

// An SSOIdentity is a person as a provider knows them.
type SSOIdentity struct {
	Subject, SID string // SID is the provider's session, "" if it names none
	Email, Name  string
	AuthTime     time.Time // when the provider last asked who is there; zero if it doesn't say
	Groups       []string
}

// SSOLifetime is how long a session of a company’s sign-in lasts in all (D142).
const SSOLifetime = 12 * time.Hour
