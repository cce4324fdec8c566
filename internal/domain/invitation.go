package domain

import "time"

// How long the links in letters work.
const (
	ResetLife      = time.Hour          // to choose a new password
	SignUpLife     = 24 * time.Hour     // to open an account
	InvitationLife = 7 * 24 * time.Hour // to join a team
)

// A StaffRequestKind is what somebody asks for who isn't signed in, and proves
// by a link in a letter.
type StaffRequestKind string

// The kinds of requests.
const (
	RequestReset  StaffRequestKind = "reset"
	RequestSignUp StaffRequestKind = "sign_up"
)

// A StaffRequest waits for the link in its letter to be opened.
type StaffRequest struct {
	ID        StaffRequestID   `db:"id"`
	Kind      StaffRequestKind `db:"kind"`
	Subject   []byte           `db:"subject"` // SHA-256 of the e-mail address
	Sealed    []byte           `db:"sealed"`  // RequestDetails
	CreatedAt time.Time        `db:"created_at"`
	ExpiresAt time.Time        `db:"expires_at"`
}

// SealOwner names the request as the owner of its sealed details.
func (r *StaffRequest) SealOwner() string { return "staff request " + r.ID.String() }

// RequestDetails are what was typed. All but Email are empty for a reset.
type RequestDetails struct {
	Email        string
	Company      string
	Name         string
	PasswordHash string
}

// An Invitation asks somebody into an account's team.
type Invitation struct {
	ID          InvitationID `db:"id"`
	AccountID   AccountID    `db:"account_id"`
	AccountName string       `db:"account_name"`
	Email       string       `db:"email"`
	Role        Role         `db:"role"`
	MayDownload bool         `db:"may_download"`
	InvitedBy   string       `db:"invited_by"` // as people knew them then
	SenderID    *StaffID     `db:"sender_id"`  // nil if an operator sent it
	CreatedAt   time.Time    `db:"created_at"`
	ExpiresAt   time.Time    `db:"expires_at"`
}

// Expired reports whether the invitation's link works no more.
func (i *Invitation) Expired(now time.Time) bool { return !now.Before(i.ExpiresAt) }

// A StaffNotice is what a staff user is told by a letter because it may have
// been somebody else's doing.
type StaffNotice string

// The notices.
const (
	NoticePasswordChanged StaffNotice = "password_changed"
	NoticeTwoStepOn       StaffNotice = "two_step_on"
	NoticeTwoStepOff      StaffNotice = "two_step_off"
	NoticeRecoveryUsed    StaffNotice = "recovery_code_used"
	NoticeFactorsReset    StaffNotice = "factors_reset"
	NoticePasskeyAdded    StaffNotice = "passkey_added"
	NoticePasskeyRemoved  StaffNotice = "passkey_removed"
	NoticeNewBrowser      StaffNotice = "new_browser"
	NoticeTooManyAttempts StaffNotice = "too_many_attempts"
	NoticeLiveMode        StaffNotice = "live_mode"
)
