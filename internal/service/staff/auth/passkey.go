package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/audit"
	"candor/internal/service/staff/attempts"
)

var (
	errPasskey = domain.Breaks(domain.CodeUnauthorized, "passkey", form.Rule{Code: "wrong_passkey"})
	errNoKey   = domain.Errorf(domain.CodeNotFound, "This passkey was removed already.")

	errOnlyCompany = domain.Breaks(domain.CodeValidation, "passkeys", form.Rule{Code: "sso_passkey"})
)

// A PasskeyQuestion is what a browser must ask a passkey: Options for its
// navigator.credentials, as JSON, and the Token that the answer comes with.
type PasskeyQuestion struct {
	Options string
	Token   string
}

// relyingParty is who passkeys are made for: the host of the base URL.
func (s *Service) relyingParty() (*webauthn.WebAuthn, error) {
	base, err := url.Parse(s.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("auth: base URL: %w", err)
	}
	party, err := webauthn.New(&webauthn.Config{
		RPID: base.Hostname(), RPDisplayName: "Candor", RPOrigins: []string{s.BaseURL},
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementRequired, RequireResidentKey: protocol.ResidentKeyRequired(),
			UserVerification: protocol.VerificationRequired, // so that it is two factors by itself
		},
	})
	if err != nil {
		return nil, fmt.Errorf("auth: passkeys: %w", err)
	}
	return party, nil
}

// passkeyOwner is a staff user as the WebAuthn library sees one.
type passkeyOwner struct {
	staff       domain.Staff
	credentials []webauthn.Credential
}

// WebAuthnID is the staff user's id.
func (o *passkeyOwner) WebAuthnID() []byte { return o.staff.ID.UUID[:] }

// WebAuthnName is the email address.
func (o *passkeyOwner) WebAuthnName() string { return o.staff.Email }

// WebAuthnDisplayName is the name.
func (o *passkeyOwner) WebAuthnDisplayName() string { return o.staff.DisplayName() }

// WebAuthnCredentials are the passkeys.
func (o *passkeyOwner) WebAuthnCredentials() []webauthn.Credential { return o.credentials }

func (s *Service) passkeyOwner(ctx context.Context, staff domain.Staff) (*passkeyOwner, error) {
	list, err := s.DB.Passkeys(ctx, staff.ID)
	if err != nil {
		return nil, err
	}
	owner := &passkeyOwner{staff: staff}
	for _, p := range list {
		var c webauthn.Credential
		if err := json.Unmarshal(p.Credential, &c); err != nil {
			return nil, fmt.Errorf("auth: stored passkey: %w", err)
		}
		owner.credentials = append(owner.credentials, c)
	}
	return owner, nil
}

// Passkeys lists the user's passkeys.
func (s *Service) Passkeys(ctx context.Context, session *domain.StaffSession) ([]domain.Passkey, error) {
	return s.DB.Passkeys(ctx, session.ID)
}

// ask keeps what the answer will be checked against.
func (s *Service) ask(ctx context.Context, staff *domain.StaffID, options any, asked *webauthn.SessionData) (*PasskeyQuestion,
	error) {
	text, err := json.Marshal(options)
	if err != nil {
		return nil, fmt.Errorf("auth: passkey options: %w", err)
	}
	data, err := json.Marshal(asked)
	if err != nil {
		return nil, fmt.Errorf("auth: passkey challenge: %w", err)
	}
	token, hash := domain.NewToken()
	if err := s.DB.InsertPasskeyChallenge(ctx, hash, staff, data, s.Clock.Now().Add(domain.PasskeyAsked)); err != nil {
		return nil, err
	}
	return &PasskeyQuestion{Options: string(text), Token: token}, nil
}

// asked returns what was asked, once, or unauthorized.
func (s *Service) asked(ctx context.Context, staff *domain.StaffID, token string) (webauthn.SessionData, error) {
	var asked webauthn.SessionData
	data, err := s.DB.TakePasskeyChallenge(ctx, domain.HashToken(token), staff, s.Clock.Now())
	if err != nil {
		return asked, db.MissingAs(err, errPasskey)
	}
	if err := json.Unmarshal(data, &asked); err != nil {
		return asked, fmt.Errorf("auth: passkey challenge: %w", err)
	}
	return asked, nil
}

// BeginPasskey asks for a new passkey of the user. Error: validation_error on passkeys for who
// signs in only with the company.
func (s *Service) BeginPasskey(ctx context.Context, session *domain.StaffSession) (*PasskeyQuestion, error) {
	staff, err := s.DB.StaffPassword(ctx, session.ID)
	if err != nil {
		return nil, db.MissingAs(err, domain.ErrSignedOut)
	}
	if staff.OnlyByCompany() {
		return nil, errOnlyCompany
	}
	party, err := s.relyingParty()
	if err != nil {
		return nil, err
	}
	owner, err := s.passkeyOwner(ctx, session.Staff)
	if err != nil {
		return nil, err
	}
	var known []protocol.CredentialDescriptor
	for i := range owner.credentials {
		known = append(known, owner.credentials[i].Descriptor())
	}
	options, asked, err := party.BeginRegistration(owner, webauthn.WithExclusions(known))
	if err != nil {
		return nil, fmt.Errorf("auth: ask for a passkey: %w", err)
	}
	return s.ask(ctx, &session.ID, options.Response, asked)
}

// AddPasskey stores the passkey that the browser has made, under a name that
// tells it from others. Errors: unauthorized for an answer that doesn't fit,
// validation_error by field name.
func (s *Service) AddPasskey(ctx context.Context, session *domain.StaffSession, token, name, response string,
	from domain.Visitor) error {
	asked, err := s.asked(ctx, &session.ID, token)
	if err != nil {
		return err
	}
	name, broken := form.CleanLine(name, domain.MaxName)
	if broken != (form.Rule{}) {
		broken.Of = "passkey"
		return domain.Breaks(domain.CodeValidation, "name", broken)
	}
	if name == "" {
		name = "Passkey"
	}
	party, err := s.relyingParty()
	if err != nil {
		return err
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes([]byte(response))
	if err != nil {
		return errPasskey
	}
	credential, err := party.CreateCredential(&passkeyOwner{staff: session.Staff}, asked, parsed)
	if err != nil {
		return errPasskey
	}
	stored, err := json.Marshal(credential)
	if err != nil {
		return fmt.Errorf("auth: passkey: %w", err)
	}
	p := &domain.Passkey{ID: domain.NewPasskeyID(), StaffID: session.ID, CredentialID: credential.ID, Name: name, Credential: stored,
		CreatedAt: s.Clock.Now()}
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		if err := tx.InsertPasskey(ctx, p); err != nil {
			return err
		}
		return s.reportPasskey(ctx, tx, session, from, domain.AuditPasskeyAdded, domain.NoticePasskeyAdded, p.ID, name)
	})
	if errors.Is(err, db.ErrPasskeyTaken) {
		return errPasskey
	}
	return err
}

// RemovePasskey deletes one of the user's passkeys and ends the sessions that
// were made by it, this one too. Errors: not_found, validation_error if the
// account requires a second factor and there is no other.
func (s *Service) RemovePasskey(ctx context.Context, session *domain.StaffSession, id string, from domain.Visitor) error {
	passkey, err := domain.ParsePasskeyID(id)
	if err != nil {
		return errNoKey
	}
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		name, err := tx.DeletePasskey(ctx, session.ID, passkey)
		if err != nil {
			return db.MissingAs(err, errNoKey)
		}
		if err := keepFactor(ctx, tx, session); err != nil {
			return err
		}
		return s.reportPasskey(ctx, tx, session, from, domain.AuditPasskeyRemoved, domain.NoticePasskeyRemoved, passkey, name)
	})
}

func (s *Service) reportPasskey(ctx context.Context, tx *db.Tx, session *domain.StaffSession, from domain.Visitor,
	action domain.AuditAction, n domain.StaffNotice, id domain.PasskeyID, name string) error {
	if err := s.Audit.Record(ctx, tx, session.AccountID, session.ActorAt(from.IPAddress),
		audit.Entry{Action: action, TargetID: id.String(), TargetName: name}); err != nil {
		return err
	}
	return s.Outbox.NoticeEmail(ctx, tx, session.ID, n)
}

// BeginPasskeySignIn asks for any passkey that was made here.
func (s *Service) BeginPasskeySignIn(ctx context.Context, from domain.Visitor) (*PasskeyQuestion, error) {
	asked := attempts.Counter(attempts.PasskeysPerNetwork, "passkeys", domain.Network(from.IPAddress))
	if user := s.KnownDevice(from.Device); user != "" {
		asked = attempts.Counter(attempts.PasskeysPerNetwork, "device passkeys", user)
	}
	if err := s.Attempts.Count(ctx, asked); err != nil {
		return nil, err
	}
	party, err := s.relyingParty()
	if err != nil {
		return nil, err
	}
	options, data, err := party.BeginDiscoverableLogin(webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return nil, fmt.Errorf("auth: ask for a passkey: %w", err)
	}
	return s.ask(ctx, nil, options.Response, data)
}

// SignInByPasskey starts a session for the owner of the passkey that has
// answered, second factor and all, and returns its token. Error: unauthorized.
func (s *Service) SignInByPasskey(ctx context.Context, token, response string, from domain.Visitor) (string, error) {
	t := attempts.Trial{Outcome: domain.AttemptWrongPasskey, From: from}
	asked, err := s.asked(ctx, nil, token)
	if err != nil {
		return "", s.Attempts.Fail(ctx, t, err)
	}
	party, err := s.relyingParty()
	if err != nil {
		return "", err
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes([]byte(response))
	if err != nil {
		return "", s.Attempts.Fail(ctx, t, errPasskey)
	}
	var owner *passkeyOwner
	var failed error // on our side
	_, credential, err := party.ValidatePasskeyLogin(func(_, handle []byte) (webauthn.User, error) {
		owner, failed = s.ownerOf(ctx, handle)
		if owner == nil {
			return nil, errPasskey
		}
		return owner, nil
	}, asked, parsed)
	if failed != nil {
		return "", s.Attempts.Fail(ctx, t, db.MissingAs(failed, errPasskey))
	}
	if owner != nil {
		t.Email, t.Staff = owner.staff.Email, owner.staff
	}
	// A counter that goes back is a copy's.
	if err != nil || credential.Authenticator.CloneWarning {
		return "", s.Attempts.Fail(ctx, t, errPasskey)
	}
	stored, err := json.Marshal(credential)
	if err != nil {
		return "", fmt.Errorf("auth: passkey: %w", err)
	}
	session := s.newStaffSession(owner.staff, from)
	cookie, tokenHash := domain.NewToken()
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		id, err := tx.UsePasskey(ctx, owner.staff.ID, credential.ID, stored, s.Clock.Now())
		if err != nil {
			return db.MissingAs(err, errPasskey)
		}
		session.PasskeyID = &id
		if err := s.startStaffSession(ctx, tx, session, tokenHash, from); err != nil {
			return err
		}
		return s.signedIn(ctx, tx, session, from)
	})
	if err != nil {
		return "", s.Attempts.Fail(ctx, t, err)
	}
	return cookie, nil
}

// ownerOf returns the staff user of a passkey's handle, or db.ErrNotFound.
func (s *Service) ownerOf(ctx context.Context, handle []byte) (*passkeyOwner, error) {
	var id domain.StaffID
	if len(handle) != len(id.UUID) {
		return nil, db.ErrNotFound
	}
	copy(id.UUID[:], handle)
	staff, err := s.DB.StaffPassword(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.passkeyOwner(ctx, staff.Staff)
}
