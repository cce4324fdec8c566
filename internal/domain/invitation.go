package domain

import "time"

// How long links in emails are valid.
const (
	ResetLife      = time.Hour          // to choose a new password
	SignUpLife     = 24 * time.Hour     // to open an account
	InvitationLife = 7 * 24 * time.Hour // to join a team
)

// A StaffRequestKind is what a signed-out person asks for and confirms with a
// link in an email.
type StaffRequestKind string

// The kinds of requests.
const (
	RequestReset  StaffRequestKind = "reset"
	RequestSignUp StaffRequestKind = "sign_up"
)

// A StaffRequest waits until the link in its email is opened.
type StaffRequest struct {
	ID        StaffRequestID   `db:"id"`
	Kind      StaffRequestKind `db:"kind"`
	Subject   []byte           `db:"subject"` // SHA-256 of the email address
	Sealed    []byte           `db:"sealed"`  // RequestDetails
	CreatedAt time.Time        `db:"created_at"`
	ExpiresAt time.Time        `db:"expires_at"`
}

// SealOwner names the request as the owner of its sealed details.
func (r *StaffRequest) SealOwner() string { return "staff request " + r.ID.String() }

// RequestDetails are what the person typed. A reset has only Email.
type RequestDetails struct {
	Email        string
	Company      string
	Name         string
	PasswordHash string
}

// An Invitation invites a person to an account's team.
type Invitation struct {
	ID          InvitationID `db:"id"`
	AccountID   AccountID    `db:"account_id"`
	AccountName string       `db:"account_name"`
	Email       string       `db:"email"`
	Role        Role         `db:"role"`
	MayDownload bool         `db:"may_download"`
	InvitedBy   string       `db:"invited_by"` // the name at that time
	SenderID    *StaffID     `db:"sender_id"`  // nil if an operator sent it
	CreatedAt   time.Time    `db:"created_at"`
	ExpiresAt   time.Time    `db:"expires_at"`
	OnlySSO     bool         `db:"only_sso"` // the account lets people in only by its company
}

// Expired reports whether the invitation's link has expired.
func (i *Invitation) Expired(now time.Time) bool { return !now.Before(i.ExpiresAt) }

// A StaffNotice is an email to a staff user about something that another
// person may have done in their name.
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
