package db

import (
	"context"
	"database/sql"
	"time"

	"github.com/lib/pq"

	"candor/internal/domain"
)

const accountColumns = `id, name, billing_email, help_email, help_phone, brand_colour, money_help, money_help_url, next_steps, receipt_email, created_at, approved_at,
	default_expires_in_days, retention_days, unsubmitted_days, answer_days, two_step_required, time_zone, logo_name, logo_width,
		logo_height, form_languages`

// accountRow is an account as it is stored.
type accountRow struct {
	domain.Account
	Languages pq.StringArray `db:"form_languages"`
}

func (r *accountRow) account() *domain.Account {
	for _, l := range r.Languages {
		r.FormLanguages = append(r.FormLanguages, domain.Language(l))
	}
	return &r.Account
}

// InsertAccount stores a new account.
func (tx *Tx) InsertAccount(ctx context.Context, a *domain.Account) error {
	_, err := tx.exec(ctx, `
		INSERT INTO account (id, name, billing_email, created_at, approved_at)
		VALUES ($1, $2, $3, $4, $5)`,
		a.ID, a.Name, a.BillingEmail, a.CreatedAt, a.ApprovedAt)
	return wrap(err, "insert account")
}

// Accounts lists all accounts, oldest first.
func (q *Queries) Accounts(ctx context.Context) ([]domain.Account, error) {
	var rows []accountRow
	err := q.all(ctx, &rows, `
		SELECT `+accountColumns+` FROM account ORDER BY created_at, id`)
	out := make([]domain.Account, len(rows))
	for i := range rows {
		out[i] = *rows[i].account()
	}
	return out, wrap(err, "list accounts")
}

// Account returns one account, or ErrNotFound.
func (q *Queries) Account(ctx context.Context, id domain.AccountID) (*domain.Account, error) {
	var r accountRow
	err := q.get(ctx, &r, `SELECT `+accountColumns+` FROM account WHERE id = $1`, id)
	return r.account(), wrap(err, "get account")
}

// LockAccount returns one account, locked for this transaction, or
// ErrNotFound.
func (tx *Tx) LockAccount(ctx context.Context, id domain.AccountID) (*domain.Account, error) {
	var r accountRow
	err := tx.get(ctx, &r, `SELECT `+accountColumns+` FROM account WHERE id = $1 FOR NO KEY UPDATE`, id)
	return r.account(), wrap(err, "lock account")
}

// UpdateAccount stores what staff can set of an account but its logo.
func (tx *Tx) UpdateAccount(ctx context.Context, a *domain.Account) error {
	languages := pq.StringArray{} // nil would be stored as null
	for _, l := range a.FormLanguages {
		languages = append(languages, string(l))
	}
	result, err := tx.exec(ctx, `
		UPDATE account SET name = $2, help_email = $3, help_phone = $4, brand_colour = $5,
			default_expires_in_days = $6, retention_days = $7, form_languages = $8,
			unsubmitted_days = $9, answer_days = $10, two_step_required = $11, money_help = $12, money_help_url = $13, time_zone = $14,
				next_steps = $15, receipt_email = $16
		WHERE id = $1`,
		a.ID, a.Name, a.HelpEmail, a.HelpPhone, a.BrandColour, a.DefaultExpiresInDays, a.RetentionDays, languages,
		a.UnsubmittedDays, a.AnswerDays, a.TwoStepRequired, a.MoneyHelp, a.MoneyHelpURL, a.TimeZone, a.NextSteps, a.ReceiptEmail)
	return changedOne(result, err, "update account")
}

// ApproveAccount opens live mode to an account and returns its owners.
func (tx *Tx) ApproveAccount(ctx context.Context, id domain.AccountID, at time.Time) ([]domain.StaffID, error) {
	var owners []domain.StaffID
	err := tx.all(ctx, &owners, `
		WITH approved AS (UPDATE account SET approved_at = $2 WHERE id = $1)
		SELECT id FROM staff_user WHERE account_id = $1 AND role = $3`, id, at, domain.RoleOwner)
	return owners, wrap(err, "approve account")
}

// LiveAccess reports whether live mode is open to an account, and whether it has
// a spend cap.
func (tx *Tx) LiveAccess(ctx context.Context, id domain.AccountID) (approved, capped bool, err error) {
	err = tx.row(ctx, `
		SELECT a.approved_at IS NOT NULL, b.spend_cap_cents IS NOT NULL
		FROM account a LEFT JOIN billing_setting b ON b.account_id = a.id
		WHERE a.id = $1`, id).Scan(&approved, &capped)
	return approved, capped, wrap(err, "look at account's access to live mode")
}

// SetLogo stores an account's logo; nil for none.
func (tx *Tx) SetLogo(ctx context.Context, id domain.AccountID, logo *domain.Logo) error {
	var result sql.Result
	var err error
	if logo == nil {
		result, err = tx.exec(ctx, `
			UPDATE account SET logo = NULL, logo_name = NULL, logo_width = NULL, logo_height = NULL WHERE id = $1`, id)
	} else {
		result, err = tx.exec(ctx, `
			UPDATE account SET logo = $2, logo_name = $3, logo_width = $4, logo_height = $5 WHERE id = $1`,
			id, logo.Content, logo.Name, logo.Width, logo.Height)
	}
	return changedOne(result, err, "set logo")
}

// Logo returns the bytes of the logo with that name, or ErrNotFound where no
// account has it any more.
func (q *Queries) Logo(ctx context.Context, name string) ([]byte, error) {
	var content []byte
	err := q.get(ctx, &content, `SELECT logo FROM account WHERE logo_name = $1 LIMIT 1`, name)
	return content, wrap(err, "get logo")
}
