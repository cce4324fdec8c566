package auth

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base32"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pquerna/otp/hotp"
	"github.com/pquerna/otp/totp"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/platform/keyring"
	"candor/internal/service/audit"
	"candor/internal/service/staff/attempts"
	"candor/internal/service/staff/passwords"
)

// codePeriod is how long a code of an authenticator app lives (RFC 6238).
const codePeriod = 30 * time.Second

// codeDigits is how many digits such a code has. No recovery code is as short.
const codeDigits = 6

var (
	errWrongCode      = domain.Breaks(domain.CodeUnauthorized, "code", form.Rule{Code: "wrong_code"})
	errNoSecret       = domain.Breaks(domain.CodeUnauthorized, "code", form.Rule{Code: "code_unchecked"})
	errTwoStepOn      = domain.Errorf(domain.CodeValidation, "Two-step sign-in is on already.")
	errNothingPending = domain.Errorf(domain.CodeValidation, "Nothing is being set up. Begin again.")
	errNoTwoStep      = domain.Errorf(domain.CodeValidation, "Two-step sign-in isn’t on.")

	errLastFactor = domain.Breaks(domain.CodeValidation, "two-step", form.Rule{Code: "last_factor"})
)

// A TwoStepSetup is what an authenticator app must know.
type TwoStepSetup struct {
	Secret string // base32
	URL    string // otpauth://, for a QR code
}

// TwoStep returns the state of a staff user's second factor.
func (s *Service) TwoStep(ctx context.Context, session *domain.StaffSession) (*domain.SecondFactor, error) {
	factor, err := s.DB.SecondFactor(ctx, session.ID)
	return factor, db.MissingAs(err, domain.ErrSignedOut)
}

// BeginTwoStep makes a new secret for an authenticator app, which counts once
// a code has proven it. Error: validation_error if two-step sign-in is on.
func (s *Service) BeginTwoStep(ctx context.Context, session *domain.StaffSession) (*TwoStepSetup, error) {
	key, err := totp.Generate(totp.GenerateOpts{Issuer: "Candor", AccountName: session.Email})
	if err != nil {
		return nil, fmt.Errorf("auth: make a secret: %w", err)
	}
	sealed := s.Ring.Seal(domain.FactorOwner(session.ID), []byte(key.Secret()))
	if err := s.DB.SetPendingFactor(ctx, session.ID, sealed); err != nil {
		return nil, db.MissingAs(err, errTwoStepOn)
	}
	return &TwoStepSetup{Secret: key.Secret(), URL: key.URL()}, nil
}

// PendingTwoStep returns what BeginTwoStep made last and is still to be proven.
// Error: validation_error if nothing is being set up.
func (s *Service) PendingTwoStep(ctx context.Context, session *domain.StaffSession) (*TwoStepSetup, error) {
	factor, err := s.TwoStep(ctx, session)
	if err != nil {
		return nil, err
	}
	if factor.Pending == nil {
		return nil, errNothingPending
	}
	secret, err := s.Ring.Open(domain.FactorOwner(session.ID), factor.Pending)
	if err != nil {
		return nil, errNothingPending
	}
	raw, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(string(secret))
	if err != nil {
		return nil, fmt.Errorf("auth: secret of an authenticator app: %w", err)
	}
	key, err := totp.Generate(totp.GenerateOpts{Issuer: "Candor", AccountName: session.Email, Secret: raw})
	if err != nil {
		return nil, fmt.Errorf("auth: repeat a secret: %w", err)
	}
	return &TwoStepSetup{Secret: key.Secret(), URL: key.URL()}, nil
}

// TurnOnTwoStep proves the pending secret by a code, signs the user's other
// browsers out and returns the recovery codes, which are shown this once, and
// the session's new token. Error: unauthorized for a wrong code.
func (s *Service) TurnOnTwoStep(ctx context.Context, session *domain.StaffSession, code string,
	from domain.Visitor) (recovery []string, token string, err error) {
	tries := attempts.Counter(attempts.ForCode, "first code", session.SessionID.String())
	t := attempts.Confirming(session, from)
	t.Outcome = domain.AttemptWrongCode
	if err := s.Attempts.Count(ctx, tries); err != nil {
		return nil, "", s.Attempts.Fail(ctx, t, err)
	}
	factor, err := s.TwoStep(ctx, session)
	if err != nil {
		return nil, "", err
	}
	step, ok, err := s.codeStep(session.ID, factor.Pending, code)
	if errors.Is(err, keyring.ErrSealed) {
		return nil, "", errNothingPending
	}
	if err != nil {
		return nil, "", err
	}
	if !ok {
		return nil, "", s.Attempts.Fail(ctx, t, errWrongCode)
	}
	recovery, hashes := newRecoveryCodes()
	token, hash := domain.NewToken()
	now := s.Clock.Now()
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		if err := tx.TurnOnFactor(ctx, session.ID, factor.Pending, step, now); err != nil {
			return db.MissingAs(err, errTwoStepOn)
		}
		if err := tx.PutRecoveryCodes(ctx, session.ID, hashes); err != nil {
			return err
		}
		if err := s.renewSession(ctx, tx, session, hash, tries); err != nil {
			return err
		}
		return s.reportChange(ctx, tx, session, from, domain.AuditTwoStepOn, domain.NoticeTwoStepOn)
	})
	if err != nil {
		return nil, "", err
	}
	return recovery, token, nil
}

// provePossession checks a code of the app, or a recovery code, of the signed-in
// user. use spends it in the transaction of the change. A session that a passkey
// started lately needs no code.
func (s *Service) provePossession(ctx context.Context, session *domain.StaffSession, staff *db.StaffPassword, code string,
	from domain.Visitor) (use func(tx *db.Tx) error, err error) {
	if session.ByPasskey(s.Clock.Now()) {
		return func(*db.Tx) error { return nil }, nil
	}
	counters := codeCounters(session.ID, s.deviceOf(staff, from), from)
	if err := s.Attempts.Count(ctx, counters...); err != nil {
		return nil, err
	}
	factor, err := s.TwoStep(ctx, session)
	if err != nil {
		return nil, err
	}
	if factor.Secret == nil {
		return nil, errNoTwoStep
	}
	step, isCode, err := s.codeStep(session.ID, factor.Secret, code)
	if err != nil {
		return nil, s.noSecret(ctx, session.ID, err)
	}
	return func(tx *db.Tx) error {
		if err := s.useCode(ctx, tx, session, step, isCode, code, from); err != nil {
			return db.MissingAs(err, errWrongCode)
		}
		return tx.ForgetAttempts(ctx, counters...)
	}, nil
}

// TurnOffTwoStep forgets the second factor of a user who proves the password
// and a code, a recovery code or a passkey: a password that leaked must not
// remove what protects from that. Errors: unauthorized on password or code,
// validation_error if the account requires it and there is no passkey.
func (s *Service) TurnOffTwoStep(ctx context.Context, session *domain.StaffSession, password, code string,
	from domain.Visitor) error {
	hashing, err := s.Passwords.Known()
	if err != nil {
		return err
	}
	defer hashing.Leave()
	staff, err := s.provePassword(ctx, hashing, session, password, from)
	if err != nil {
		return err
	}
	t := attempts.Confirming(session, from)
	t.Outcome = domain.AttemptWrongCode
	useCode, err := s.provePossession(ctx, session, staff, code, from)
	if err != nil {
		return s.Attempts.Fail(ctx, t, err)
	}
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		if err := useCode(tx); err != nil {
			return err
		}
		if err := tx.TurnOffFactor(ctx, session.ID); err != nil {
			return db.MissingAs(err, errNoTwoStep)
		}
		if err := keepFactor(ctx, tx, session); err != nil {
			return err
		}
		if err := tx.ForgetAttempts(ctx, confirmCounter(session)); err != nil {
			return err
		}
		return s.reportChange(ctx, tx, session, from, domain.AuditTwoStepOff, domain.NoticeTwoStepOff)
	})
	if err != nil {
		return s.Attempts.Fail(ctx, t, err)
	}
	return nil
}

// keepFactor refuses a change that has removed the user's last second factor, if
// the account requires one. Otherwise a password that leaked could set up a
// second factor of its own. It locks the user only after the passkey was deleted:
// signing in by a passkey locks the two in that order.
func keepFactor(ctx context.Context, tx *db.Tx, session *domain.StaffSession) error {
	if err := tx.LockStaff(ctx, session.ID); err != nil {
		return db.MissingAs(err, domain.ErrSignedOut)
	}
	missing, err := tx.LacksFactor(ctx, session.ID)
	if err == nil && missing {
		return errLastFactor
	}
	return err
}

// SecondFactor completes a half-open sign-in by a code of the authenticator
// app or by a recovery code, each of which works once, and returns the
// session's new token. Error: unauthorized for a wrong code.
func (s *Service) SecondFactor(ctx context.Context, half *domain.StaffSession, code string, from domain.Visitor) (token string,
	err error) {
	staff, err := s.DB.StaffPassword(ctx, half.ID)
	if err != nil {
		return "", db.MissingAs(err, domain.ErrSignedOut)
	}
	counters := codeCounters(half.ID, s.deviceOf(staff, from), from)
	t := attempts.Trial{Outcome: domain.AttemptWrongCode, Email: staff.Email, Staff: staff.Staff, From: from}
	if err := s.Attempts.Count(ctx, counters...); err != nil {
		return "", s.Attempts.Fail(ctx, t, err)
	}
	factor, err := s.TwoStep(ctx, half)
	if err != nil {
		return "", err
	}
	step, isCode, err := s.codeStep(half.ID, factor.Secret, code)
	if err != nil {
		return "", s.noSecret(ctx, half.ID, err)
	}
	token, hash := domain.NewToken()
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		if err := s.useCode(ctx, tx, half, step, isCode, code, from); err != nil {
			return db.MissingAs(err, errWrongCode)
		}
		if err := tx.CompleteStaffSession(ctx, half.SessionID, hash, s.Clock.Now()); err != nil {
			return db.MissingAs(err, domain.ErrSignedOut)
		}
		if err := tx.ForgetAttempts(ctx, counters...); err != nil {
			return err
		}
		return s.signedIn(ctx, tx, half, from)
	})
	if err != nil {
		return "", s.Attempts.Fail(ctx, t, err)
	}
	return token, nil
}

// useCode uses the app's code, or else the recovery code, or returns
// db.ErrNotFound.
func (s *Service) useCode(ctx context.Context, tx *db.Tx, half *domain.StaffSession, step int64, isCode bool, code string,
	from domain.Visitor) error {
	if isCode {
		return tx.UseStep(ctx, half.ID, step)
	}
	if err := tx.UseRecoveryCode(ctx, half.ID, domain.HashToken(typedCode(code))); err != nil {
		return err
	}
	return s.reportChange(ctx, tx, half, from, domain.AuditRecoveryCodeUsed, domain.NoticeRecoveryUsed)
}

// noSecret is the error of a code that can't be checked, if the key of the
// authenticator's secret is missing.
func (s *Service) noSecret(ctx context.Context, staff domain.StaffID, err error) error {
	if !errors.Is(err, keyring.ErrSealed) {
		return err
	}
	s.Logger.ErrorContext(ctx, "an authenticator's secret can't be opened", "staff_id", staff, "error", err)
	return errNoSecret
}

// codeStep reports whether the code is that of the sealed secret now, a period
// before or a period after, since clocks differ, and returns its step.
func (s *Service) codeStep(staff domain.StaffID, sealed []byte, code string) (step int64, ok bool, err error) {
	typed := typedCode(code)
	// A recovery code needs no secret, so it works without the secret's key.
	if sealed == nil || len(typed) != codeDigits {
		return 0, false, nil
	}
	secret, err := s.Ring.Open(domain.FactorOwner(staff), sealed)
	if err != nil {
		return 0, false, err
	}
	now := s.Clock.Now().Unix() / int64(codePeriod/time.Second)
	for _, one := range []int64{now - 1, now, now + 1} {
		want, err := hotp.GenerateCode(string(secret), uint64(one))
		if err != nil {
			return 0, false, fmt.Errorf("auth: code of an authenticator app: %w", err)
		}
		if subtle.ConstantTimeCompare([]byte(want), []byte(typed)) == 1 {
			step, ok = one, true
		}
	}
	return step, ok, nil
}

// typedCode is a code without the spaces and dashes that people type.
func typedCode(code string) string { return passwords.Alphanumeric(strings.ToLower(code)) }

// ResetFactors lets a staff user who has lost every second factor sign in with
// the password alone: for operators, who have made sure who asks. Authenticator,
// recovery codes and passkeys are deleted, all browsers are signed out, and the
// user gets an email. Error: not_found.
func (s *Service) ResetFactors(ctx context.Context, email string, by domain.Actor) (*db.StaffPassword, error) {
	staff, err := s.DB.StaffByEmail(ctx, email)
	if err != nil {
		return nil, db.MissingAs(err, domain.Errorf(domain.CodeNotFound, "There is no staff user with this email address."))
	}
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		if err := tx.DropSecondFactors(ctx, staff.ID); err != nil {
			return err
		}
		err := s.Audit.Record(ctx, tx, staff.AccountID, by, audit.Entry{
			Action: domain.AuditFactorsReset, TargetID: staff.ID.String(), TargetName: staff.Email,
		})
		if err != nil {
			return err
		}
		return s.Outbox.NoticeEmail(ctx, tx, staff.ID, domain.NoticeFactorsReset)
	})
	if err != nil {
		return nil, err
	}
	return s.DB.StaffPassword(ctx, staff.ID)
}

// recoveryCodes is how many recovery codes there are at first.
const recoveryCodes = 10

// RenewRecoveryCodes replaces the recovery codes and returns the new ones,
// which are shown this once.
func (s *Service) RenewRecoveryCodes(ctx context.Context, session *domain.StaffSession, from domain.Visitor) ([]string, error) {
	factor, err := s.TwoStep(ctx, session)
	if err != nil {
		return nil, err
	}
	if factor.Secret == nil {
		return nil, errNoTwoStep
	}
	codes, hashes := newRecoveryCodes()
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		if err := tx.PutRecoveryCodes(ctx, session.ID, hashes); err != nil {
			return err
		}
		return s.Audit.Record(ctx, tx, session.AccountID, session.ActorAt(from.IPAddress),
			audit.Entry{Action: domain.AuditRecoveryCodesMade, TargetID: session.ID.String(), TargetName: session.Email})
	})
	return codes, err
}

// recoveryAlphabet has no characters that look alike.
const recoveryAlphabet = "abcdefghjkmnpqrstvwxyz0123456789"

// recoveryLength is how many characters of 5 bits a recovery code has: 120 bits
// can't be found from the stored SHA-256. Codes made before had 16 and still work.
const recoveryLength = 24

// newRecoveryCodes returns recovery codes and what is stored of them. Groups of
// four can be typed from paper; typedCode takes them in any case and spacing.
func newRecoveryCodes() (codes []string, hashes [][]byte) {
	for range recoveryCodes {
		random := make([]byte, recoveryLength)
		_, _ = rand.Read(random) // never fails
		var code strings.Builder
		for i, b := range random {
			if i > 0 && i%4 == 0 {
				code.WriteByte('-')
			}
			code.WriteByte(recoveryAlphabet[b%32])
		}
		codes = append(codes, code.String())
		hashes = append(hashes, domain.HashToken(typedCode(code.String())))
	}
	return codes, hashes
}
