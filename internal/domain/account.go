package domain

import (
	"slices"
	"strings"
	"time"
)

// An Account is a partner (D3).
type Account struct {
	ID           AccountID  `db:"id"`
	Name         string     `db:"name"`
	BillingEmail string     `db:"billing_email"`
	HelpEmail    *string    `db:"help_email"` // help for customers; nil for none
	HelpPhone    *string    `db:"help_phone"`
	BrandColour  *string    `db:"brand_colour"` // six hex digits; nil for Candor's colour
	MoneyHelp    *string    `db:"money_help"`   // free help with money trouble; nil for the National Debt Helpline
	MoneyHelpURL *string    `db:"money_help_url"`
	NextSteps    *string    `db:"next_steps"`    // what customers read after submission; nil: that the partner reads it (D83)
	ReceiptEmail bool       `db:"receipt_email"` // customers get an email that a live statement arrived (D83)
	CreatedAt    time.Time  `db:"created_at"`
	ApprovedAt   *time.Time `db:"approved_at"` // when live mode was opened; nil: not yet (D52)

	DefaultExpiresInDays int     `db:"default_expires_in_days"` // of a session without expires_in_days, 1 to 90
	RetentionDays        int     `db:"retention_days"`          // FileRetention
	UnsubmittedDays      int     `db:"unsubmitted_days"`        // UnsubmittedRetention
	AnswerDays           int     `db:"answer_days"`             // AnswerRetention; 0: until they are erased on request
	TwoStepRequired      bool    `db:"two_step_required"`       // for every user of the account
	TimeZone             string  `db:"time_zone"`               // one of TimeZones
	LogoName             *string `db:"logo_name"`               // Logo.Name; nil for none
	LogoWidth            *int    `db:"logo_width"`              // pixels
	LogoHeight           *int    `db:"logo_height"`             // pixels

	FormLanguages []Language `db:"-"` // besides English
}

// Retention is how long the account keeps the PDF and documents of completed
// sessions.
func (a *Account) Retention() time.Duration { return time.Duration(a.RetentionDays) * 24 * time.Hour }

// A Scope is one mode of an account, live or test. It can't see the other mode
// or another account (D3).
type Scope struct {
	AccountID AccountID `db:"account_id"`
	Livemode  bool      `db:"livemode"`
}

// A Principal is the key that makes an API request, with its account and mode.
type Principal struct {
	Scope
	KeyID       KeyID
	KeyName     string
	Permissions Permissions
}

// SecretOwner names the scope as the owner of its sealed webhook secrets.
func (s Scope) SecretOwner() string {
	mode := "test"
	if s.Livemode {
		mode = "live"
	}
	return "webhook secret " + s.AccountID.String() + " " + mode
}

// The largest logo: as uploaded, and as stored and shown.
const (
	MaxLogoUpload = 512 << 10 // bytes
	MaxLogoBytes  = 16 << 10
	MaxLogoWidth  = 480 // pixels, two for each shown pixel
	MaxLogoHeight = 96
)

// LogoType is the content type of a logo by its name.
func LogoType(name string) string {
	if strings.HasSuffix(name, ".jpg") {
		return "image/jpeg"
	}
	return "image/png"
}

// A Logo is an account's picture on its customers' forms and PDFs.
type Logo struct {
	Name    string // made from Content; ends in .png or .jpg
	Width   int    // pixels
	Height  int
	Content []byte
}

// Language is a language of the customer's form, as a BCP 47 tag.
type Language string

// The languages of the form. English is always offered, and answers are
// stored, signed and sent in English.
const (
	English           Language = "en-AU"
	SimplifiedChinese Language = "zh-Hans"
	Vietnamese        Language = "vi"
)

// Languages are all languages of the form, English first.
var Languages = [...]Language{English, SimplifiedChinese, Vietnamese}

// Enum lists the languages.
func (Language) Enum() []string { return texts(Languages[:]) }

// Name is the language's own name.
func (l Language) Name() string {
	switch l {
	case SimplifiedChinese:
		return "简体中文"
	case Vietnamese:
		return "Tiếng Việt"
	}
	return "English"
}

// EnglishName is the language's English name.
func (l Language) EnglishName() string {
	switch l {
	case SimplifiedChinese:
		return "Chinese (Simplified)"
	case Vietnamese:
		return "Vietnamese"
	}
	return "English"
}

// Languages returns the languages of the account's forms, English first.
func (a *Account) Languages() []Language {
	var out []Language
	for _, l := range Languages {
		if l == English || slices.Contains(a.FormLanguages, l) {
			out = append(out, l)
		}
	}
	return out
}
