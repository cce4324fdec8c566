package domain

import (
	"slices"
	"strings"
	"time"
)

// FactorOwner names a staff user as the owner of the sealed secret of an
// authenticator app.
func FactorOwner(id StaffID) string { return "staff totp " + id.String() }

// A Staff user works for a partner and uses the dashboard.
type Staff struct {
	ID          StaffID   `db:"id"`
	AccountID   AccountID `db:"account_id"`
	Email       string    `db:"email"`
	Name        string    `db:"name"` // "" if none was given
	Role        Role      `db:"role"`
	MayDownload bool      `db:"may_download"` // lets support read customers' data
	CreatedAt   time.Time `db:"created_at"`

	MustChangePassword bool `db:"must_change_password"` // it was printed by `candor account create`
}

// DisplayName is the name, or the email address without one.
func (s *Staff) DisplayName() string {
	if s.Name != "" {
		return s.Name
	}
	return s.Email
}

// A Role says what a staff user may do in the dashboard.
type Role string

// The roles. An account's first staff user is its owner.
const (
	RoleOwner     Role = "owner"
	RoleDeveloper Role = "developer"
	RoleSupport   Role = "support"
	RoleFinance   Role = "finance"
	RoleAuditor   Role = "auditor" // reads, and doesn't act (D135)
)

// A RoleInfo is what is known about a role.
type RoleInfo struct {
	Role      Role
	Name      string       // in the dashboard
	May       []Capability // what it opens, to read and to act
	IfAllowed []Capability // with MayDownload, too
	Reads     []Capability // what it opens to read, and not to act
}

// RoleTable describes every role, in the order in which the dashboard shows them.
var RoleTable = []RoleInfo{
	{Role: RoleOwner, Name: "Owner", May: []Capability{UseDashboard, UseSessions, DownloadData, ManageKeys, ManageWebhooks,
		ReadRequests, UseBilling, ManageAccount}},
	{Role: RoleDeveloper, Name: "Developer", May: []Capability{UseDashboard, UseSessions, DownloadData, ManageKeys, ManageWebhooks,
		ReadRequests}},
	{Role: RoleSupport, Name: "Support", May: []Capability{UseDashboard, UseSessions}, IfAllowed: []Capability{DownloadData}},
	{Role: RoleFinance, Name: "Finance", May: []Capability{UseDashboard, UseBilling}},
	{Role: RoleAuditor, Name: "Auditor", May: []Capability{UseDashboard}, Reads: []Capability{UseSessions, ManageKeys,
		ManageWebhooks, ReadRequests, UseBilling, ManageAccount}},
}

// Roles lists the roles.
var Roles = keys(RoleTable, func(info RoleInfo) Role { return info.Role })

var roles = byKey(RoleTable, func(info RoleInfo) Role { return info.Role })

// Info describes the role; it is zero for an unknown one.
func (r Role) Info() RoleInfo { return roles[r] }

// Rights says what the role may do: "Reads API requests; creates, changes and deletes API keys".
func (info RoleInfo) Rights() string {
	parts := acts(info.May)
	if len(info.May) == len(CapabilityTable) {
		parts = append([]string{"does all that other roles do"}, acts([]Capability{ManageAccount})...)
	}
	for _, act := range acts(info.IfAllowed) {
		parts = append(parts, act+" if an owner allows it")
	}
	if len(info.Reads) > 0 {
		parts = append(parts, "reads "+listed(info.Reads), "changes nothing")
	}
	words := strings.Join(parts, "; ")
	return strings.ToUpper(words[:1]) + words[1:]
}

// acts are what the capabilities let people do, but for what everyone does.
func acts(all []Capability) (out []string) {
	for _, c := range all {
		if info := capabilities[c]; info.Acts != "" {
			out = append(out, info.Acts)
		}
	}
	return out
}

// listed are the capabilities in words: "home, sessions and billing".
func listed(all []Capability) string {
	words := make([]string, len(all))
	for i, c := range all {
		words[i] = c.Words()
	}
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// A Capability is one part of the dashboard that a role opens.
type Capability string

// The capabilities.
const (
	UseDashboard   Capability = "dashboard" // everybody's: home, the own account
	UseSessions    Capability = "sessions"  // view, create, cancel and extend sessions
	DownloadData   Capability = "data"      // read customers' answers and documents
	ManageKeys     Capability = "keys"
	ManageWebhooks Capability = "webhooks"
	ReadRequests   Capability = "requests" // the log of API requests
	UseBilling     Capability = "billing"
	ManageAccount  Capability = "account" // settings, team, audit log
)

// A CapabilityInfo is what is known about a capability.
type CapabilityInfo struct {
	Capability Capability
	Words      string // what it opens, in the dashboard and in emails
	Acts       string // what who has it does; "" for what everyone does
}

// CapabilityTable describes every capability.
var CapabilityTable = []CapabilityInfo{
	{UseDashboard, "home", ""},
	{UseSessions, "sessions and figures", "creates, extends and cancels sessions, and reads figures"},
	{DownloadData, "customers’ data", "reads customers’ data"},
	{ManageKeys, "API keys", "creates, changes and deletes API keys"},
	{ManageWebhooks, "webhooks and events", "changes webhooks, and reads events"},
	{ReadRequests, "API requests", "reads API requests"},
	{UseBilling, "billing", "reads invoices, and changes the plan and billing details"},
	{ManageAccount, "settings, team and audit log", "changes settings and team, reads the audit log, and deletes customers’ data"},
}

// Capabilities lists the capabilities.
var Capabilities = keys(CapabilityTable, func(info CapabilityInfo) Capability { return info.Capability })

var capabilities = byKey(CapabilityTable, func(info CapabilityInfo) Capability { return info.Capability })

// Words are what the capability opens: "API keys".
func (c Capability) Words() string { return capabilities[c].Words }

// May reports whether the staff user has the capability, to act.
func (s *Staff) May(c Capability) bool {
	info := s.Role.Info()
	return slices.Contains(info.May, c) || s.MayDownload && slices.Contains(info.IfAllowed, c)
}

// Sees reports whether the staff user may read what the capability opens (D135).
func (s *Staff) Sees(c Capability) bool { return s.May(c) || slices.Contains(s.Role.Info().Reads, c) }

// OnlyReads reports whether the staff user may look at more than act on.
func (s *Staff) OnlyReads() bool { return len(s.Role.Info().Reads) > 0 }

// Grantable are the permissions that the staff user can give an API key; nil is full
// access (D93).
func (s *Staff) Grantable() Permissions {
	out := Permissions{}
	for _, info := range PermissionTable {
		if s.May(ManageKeys) && s.May(info.Needs) {
			out = append(out, info.Permission)
		}
	}
	if len(out) == len(PermissionTable) {
		return nil
	}
	return out
}

// A StaffSession is a browser in which a staff user is signed in.
type StaffSession struct {
	Staff
	SessionID   StaffSessionID `db:"session_id"`
	AccountName string         `db:"account_name"`
	TimeZone    string         `db:"time_zone"`        // of the account
	Approved    bool           `db:"account_approved"` // live mode is open to the account
	Stage       SignInStage    `db:"stage"`
	StartedAt   time.Time      `db:"started_at"`
	SeenAt      time.Time      `db:"seen_at"`      // to the minute
	ConfirmedAt time.Time      `db:"confirmed_at"` // when the user last gave a password or a passkey
	ExpiresAt   time.Time      `db:"expires_at"`   // at the latest
	Address     string         `db:"address"`
	UserAgent   string         `db:"user_agent"`
	PasskeyID   *PasskeyID     `db:"passkey_id"` // that opened the session; nil for a password

	SSOAccountID *AccountID `db:"sso_account_id"` // of the connection that opened the session; nil for none
	SSOSID       *string    `db:"sso_sid"`        // the provider's session; nil if it names none

	TwoStepRequired bool `db:"two_step_required"` // by the account
	TwoStep         bool `db:"two_step"`          // sign-in asks for a code after the password
	HasPasskey      bool `db:"has_passkey"`
}

// A Duty is what a staff user must do before the dashboard opens.
type Duty string

// The duties. NoDuty opens the dashboard.
const (
	NoDuty        Duty = ""
	DutyPassword  Duty = "password"   // choose a password that only the user knows
	DutyFactor    Duty = "factor"     // set up a second factor
	DutyByPasskey Duty = "by_passkey" // sign in with the passkey, not with the password
)

// Duty returns what the user must do first. A passkey doesn't count in a
// session that was opened with the password alone, because the password may
// have leaked.
func (s *StaffSession) Duty() Duty {
	switch {
	case s.BySSO():
		return NoDuty // what the provider asks is the company's rule
	case s.MustChangePassword:
		return DutyPassword
	case !s.TwoStepRequired || s.SecondFactorShown():
		return NoDuty
	case s.HasPasskey:
		return DutyByPasskey
	}
	return DutyFactor
}

// BySSO reports whether the session was opened by the company's sign-in.
func (s *StaffSession) BySSO() bool { return s.SSOAccountID != nil }

// SecondFactorShown reports whether the session was opened with more than a
// password. With two-step sign-in every session was, because turning it on
// ends the others.
func (s *StaffSession) SecondFactorShown() bool { return s.TwoStep || s.PasskeyID != nil || s.BySSO() }

// ByPasskey reports whether the user has signed in with a passkey within
// StaffConfirmed.
func (s *StaffSession) ByPasskey(now time.Time) bool {
	return s.PasskeyID != nil && now.Sub(s.StartedAt) < StaffConfirmed
}

// A SignInStage is how far a sign-in has got.
type SignInStage string

// The stages of a sign-in.
const (
	SignInPassword SignInStage = "password" // a second factor is still to come
	SignInFull     SignInStage = "full"
)

// The lifetimes of staff sessions and their confirmation.
const (
	StaffIdle      = 12 * time.Hour      // without a request
	StaffLifetime  = 14 * 24 * time.Hour // in total
	StaffHalfOpen  = 10 * time.Minute    // between password and second factor
	StaffConfirmed = 15 * time.Minute    // after a password, before it is asked for again
	PasskeyAsked   = 5 * time.Minute     // to answer a passkey prompt
	HeldFormLife   = 30 * time.Minute    // of a form that waits for the password; longer than the pause after too many wrong ones
)

// Confirmed reports whether the user has confirmed the session within
// StaffConfirmed.
func (s *StaffSession) Confirmed(now time.Time) bool { return now.Sub(s.ConfirmedAt) < StaffConfirmed }

// A HeldForm is a posted form that waits until its sender types the password.
type HeldForm struct {
	ID          HeldFormID `json:"-"`
	URI         string     `json:"uri"` // path and query it was posted to
	ContentType string     `json:"content_type"`
	Body        []byte     `json:"body"`
	Done        bool       `json:"-"` // carried out; URI, ContentType and Body are deleted
	ExpiresAt   time.Time  `json:"-"`
}

// SealOwner names the form and its session as the owner of its sealed content.
func (f *HeldForm) SealOwner(session StaffSessionID) string {
	return "held form " + f.ID.String() + " of " + session.String()
}

// A Passkey signs a staff user in without a password (WebAuthn).
type Passkey struct {
	ID           PasskeyID  `db:"id"`
	StaffID      StaffID    `db:"staff_id"`
	CredentialID []byte     `db:"credential_id"`
	Name         string     `db:"name"`
	Credential   []byte     `db:"credential"` // JSON: public key, counter, flags
	CreatedAt    time.Time  `db:"created_at"`
	UsedAt       *time.Time `db:"used_at"`
}

// SecondFactor is a staff user's authenticator app. Secrets are sealed.
type SecondFactor struct {
	Pending       []byte     `db:"totp_pending"` // set up and not proven yet; nil for none
	Secret        []byte     `db:"totp_secret"`  // nil: no second factor
	Since         *time.Time `db:"totp_since"`
	Step          int64      `db:"totp_step"`      // of the last code that was used
	RecoveryCodes int        `db:"recovery_codes"` // that are left
}

// TeamMember is a staff user as the rest of the team sees them.
type TeamMember struct {
	Staff
	TwoStep    bool       `db:"two_step"`
	HasPasskey bool       `db:"has_passkey"`
	SeenAt     *time.Time `db:"seen_at"` // nil for never
}

// A Visitor is the browser that a request came from.
type Visitor struct {
	UserAgent, IPAddress string
	StaffToken           string // of the browser's staff session, which a sign-in ends; "" if there is none
	RequestID            string // of the request, for logs; "" for none
	Device               string // the cookie by which the browser is known; "" if it isn't
}

// An AttemptOutcome is the outcome of an attempt to sign in or to confirm a
// password.
type AttemptOutcome string

// The outcomes.
const (
	AttemptSucceeded     AttemptOutcome = "succeeded"
	AttemptWrongPassword AttemptOutcome = "wrong_password"
	AttemptWrongCode     AttemptOutcome = "wrong_code"
	AttemptWrongPasskey  AttemptOutcome = "wrong_passkey"
	AttemptNotConfirmed  AttemptOutcome = "not_confirmed" // a wrong password of someone who is signed in
	AttemptSSORefused    AttemptOutcome = "sso_refused"   // by what the company's provider says
	AttemptThrottled     AttemptOutcome = "throttled"     // after too many failures
	AttemptLimited       AttemptOutcome = "limited"       // too many posts from its network
	AttemptShed          AttemptOutcome = "shed"          // the queue for hashing passwords was full
)

// AttemptOutcomes lists the outcomes.
var AttemptOutcomes = []AttemptOutcome{
	AttemptSucceeded, AttemptWrongPassword, AttemptWrongCode, AttemptWrongPasskey, AttemptNotConfirmed, AttemptSSORefused,
	AttemptThrottled,
	AttemptLimited, AttemptShed,
}

// A StaffView is a list of sessions that a staff user has saved under a name (D144).
type StaffView struct {
	Name  string `db:"name"`
	Query string `db:"query"` // filters, order and columns, as the list's address has them
}

// What a staff user can save.
const (
	MaxViews    = 20 // in each mode
	MaxViewName = 40 // characters
)
