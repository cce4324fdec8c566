package domain

import (
	"cmp"
	"time"
)

// An Actor is a person, key or process in the audit log.
type Actor struct {
	Kind    ActorKind
	ID      string
	Name    string // as people know it: an email address, a key's name
	Address string // client's address; "" if there is no client
	Staff   *Staff // a staff user's rights, nil for other actors
}

// An ActorKind says what an Actor is.
type ActorKind string

// The kinds of actors.
const (
	ActorStaff    ActorKind = "staff"
	ActorKey      ActorKind = "key"
	ActorOperator ActorKind = "operator" // by a command
	ActorSystem   ActorKind = "system"
	ActorStranger ActorKind = "stranger" // who failed to sign in
	// ActorNone gets a response that was not sent. It is never stored.
	ActorNone ActorKind = "none"
)

// Actor returns the signed-in user as an actor.
func (s *StaffSession) Actor() Actor {
	return Actor{Kind: ActorStaff, ID: s.ID.String(), Name: s.Email, Address: s.Address, Staff: &s.Staff}
}

// ActorAt is the signed-in user as an actor, at the address of the request.
func (s *StaffSession) ActorAt(address string) Actor {
	by := s.Actor()
	by.Address = address
	return by
}

// Actor returns the key as an actor at that address.
func (p *Principal) Actor(address string) Actor {
	return Actor{Kind: ActorKey, ID: p.KeyID.String(), Name: p.KeyName, Address: address}
}

// An AuditEntry is an entry of the audit log. Before and After hold what
// changed, without secrets; nil for nothing.
type AuditEntry struct {
	ID         AuditID     `db:"id"`
	AccountID  AccountID   `db:"account_id"`
	Livemode   *bool       `db:"livemode"` // nil for both modes
	At         time.Time   `db:"at"`
	ActorKind  ActorKind   `db:"actor_kind"`
	ActorID    string      `db:"actor_id"`
	ActorName  string      `db:"actor_name"`
	Action     AuditAction `db:"action"`
	TargetID   string      `db:"target_id"`
	TargetName string      `db:"target_name"`
	Address    string      `db:"address"`
	Before     []byte      `db:"before"` // JSON
	After      []byte      `db:"after"`
	Times      int         `db:"times"` // that it was done
	Until      *time.Time  `db:"until"` // the last of these times; nil for one
}

// AuditFilter filters the audit log; zero fields match everything.
type AuditFilter struct {
	Action  AuditAction
	Actor   string     // the name
	ActorID string     // a key's, whose name may have changed or be another's, too
	From    *time.Time // then or later
	To      *time.Time // before
}

// AuditFilters are the filters of the audit log.
var AuditFilters = []Filter[AuditFilter]{
	{Name: "action", Column: "action", Index: "audit_log_action_idx", Value: func(f *AuditFilter) any { return set(f.Action) }},
	{Name: "who", Column: "actor_name", Index: "audit_log_actor_idx", Value: func(f *AuditFilter) any { return set(f.Actor) }},
	{Name: "actor_id", Column: "actor_id", Value: func(f *AuditFilter) any { return set(f.ActorID) }},
	{Name: "from", Column: "at", Compare: AtLeast, Index: "audit_log_account_idx", Value: func(f *AuditFilter) any {
		return given(f.From)
	}},
	{Name: "to", Column: "at", Compare: Below, Index: "audit_log_account_idx", Value: func(f *AuditFilter) any {
		return given(f.To)
	}},
}

// An AuditAction names what was done to what.
type AuditAction string

// The actions.
const (
	AuditSignedIn  AuditAction = "staff.signed_in"
	AuditSignedOut AuditAction = "staff.signed_out"

	// Failures are recorded once for each user, network and 15 minutes.
	AuditSignInFailed   AuditAction = "staff.sign_in_failed"
	AuditCodeRefused    AuditAction = "staff.code_refused" // after the right password
	AuditConfirmRefused AuditAction = "staff.confirmation_refused"
	AuditThrottled      AuditAction = "staff.attempts_throttled"
	AuditForbidden      AuditAction = "staff.forbidden" // by the role

	AuditPasswordChanged   AuditAction = "staff.password_changed"
	AuditPasswordReset     AuditAction = "staff.password_reset" // by a link in an email
	AuditSessionsEnded     AuditAction = "staff.sessions_ended" // in other browsers
	AuditTwoStepOn         AuditAction = "staff.two_step_on"
	AuditTwoStepOff        AuditAction = "staff.two_step_off"
	AuditRecoveryCodesMade AuditAction = "staff.recovery_codes_made"
	AuditRecoveryCodeUsed  AuditAction = "staff.recovery_code_used"
	AuditPasskeyAdded      AuditAction = "staff.passkey_added"
	AuditPasskeyRemoved    AuditAction = "staff.passkey_removed" //nolint:gosec // a name, no credential
	AuditFactorsReset      AuditAction = "staff.factors_reset"   // by an operator
	AuditStaffNamed        AuditAction = "staff.named"
	AuditEmailsChosen      AuditAction = "staff.emails_chosen" // of alerts
	AuditInvited           AuditAction = "staff.invited"
	AuditSSORefused        AuditAction = "staff.sso_refused" // a person whom the provider knows
	AuditSSOLinked         AuditAction = "staff.sso_linked"  // a member of the team, at the first sign-in
	AuditSSOJoined         AuditAction = "staff.sso_joined"
	AuditSSOEnded          AuditAction = "staff.sso_ended" // by the provider
	AuditSSOChanged        AuditAction = "account.sso_changed"
	AuditSSORemoved        AuditAction = "account.sso_removed"
	AuditSSODomainAdded    AuditAction = "account.sso_domain_added"
	AuditSSODomainVerified AuditAction = "account.sso_domain_verified"
	AuditSSODomainRemoved  AuditAction = "account.sso_domain_removed"
	AuditSSOOnly           AuditAction = "account.sso_only"
	AuditInvitationRevoked AuditAction = "staff.invitation_revoked"
	AuditInvitationCopied  AuditAction = "staff.invitation_link_shown"
	AuditAccessAsked       AuditAction = "staff.access_asked" // of an owner
	AuditJoined            AuditAction = "staff.joined"
	AuditAccountApproved   AuditAction = "account.approved"
	AuditAccountOpened     AuditAction = "account.opened"  // by signing up
	AuditAccountCreated    AuditAction = "account.created" // by an operator

	AuditAccountChanged AuditAction = "account.changed"

	AuditPlanChanged           AuditAction = "subscription.plan_changed"
	AuditSubscribed            AuditAction = "subscription.started"
	AuditSubscriptionCancelled AuditAction = "subscription.cancelled"
	AuditReactivated           AuditAction = "subscription.reactivated"
	AuditBillingEmail          AuditAction = "billing.email_changed"
	AuditBuyer                 AuditAction = "billing.invoice_details_changed"
	AuditSpendLimits           AuditAction = "billing.spend_limits_changed"
	AuditCardPage              AuditAction = "billing.card_page_opened" // the payment provider's
	AuditCardStored            AuditAction = "billing.card_stored"      // as the payment provider says
	AuditCardRemoved           AuditAction = "billing.card_removed"
	AuditInvoicePaid           AuditAction = "invoice.paid" // as an operator says
	AuditInvoiceFailed         AuditAction = "invoice.payment_failed"
	AuditInvoiceVoid           AuditAction = "invoice.voided"

	AuditRedelivered       AuditAction = "delivery.redelivered"
	AuditDeliveryCancelled AuditAction = "delivery.cancelled"
	AuditRedeliveryStarted AuditAction = "redelivery.started" // of many
	AuditRedeliveryStopped AuditAction = "redelivery.stopped"
	AuditWebhookURL        AuditAction = "webhook.url_changed"
	AuditEndpointCreated   AuditAction = "webhook_endpoint.created"
	AuditEndpointChanged   AuditAction = "webhook_endpoint.changed"
	AuditEndpointDeleted   AuditAction = "webhook_endpoint.deleted"
	AuditSecretShown       AuditAction = "webhook_secret.shown"
	AuditSecretNext        AuditAction = "webhook_secret.next_made"
	AuditSecretSwitched    AuditAction = "webhook_secret.switched"
	AuditSecretRestored    AuditAction = "webhook_secret.restored"
	AuditSecretAbandoned   AuditAction = "webhook_secret.next_abandoned"
	AuditTestEvent         AuditAction = "webhook.test_sent"

	AuditKeyCreated AuditAction = "api_key.created"
	AuditKeyChanged AuditAction = "api_key.changed"
	AuditKeyRotated AuditAction = "api_key.rotated"
	AuditKeyDeleted AuditAction = "api_key.deleted"

	AuditRoleChanged  AuditAction = "staff.role_changed"
	AuditStaffRemoved AuditAction = "staff.removed"
	AuditLogExported  AuditAction = "audit_log.exported"

	AuditSessionCreated   AuditAction = "session.created" // by staff; keys' are in the session
	AuditSessionCancelled AuditAction = "session.cancelled"
	AuditSessionExtended  AuditAction = "session.extended"
	AuditLinkRenewed      AuditAction = "session.link_renewed"
	AuditLinkEmailed      AuditAction = "session.link_emailed" // at creation it is in the session
	AuditSessionsExported AuditAction = "sessions.exported"
	AuditDataRead         AuditAction = "session.data_read"
	AuditPDFRead          AuditAction = "session.pdf_read"
	AuditDocumentRead     AuditAction = "session.document_read"
	AuditSessionErased    AuditAction = "session.erased"
)

// An AuditActionInfo is what is known about an action.
type AuditActionInfo struct {
	Action AuditAction
	Words  string // in the dashboard: the audit log, its filter and a session's timeline
}

// AuditTable describes every action, in the order in which the filter shows them.
var AuditTable = []AuditActionInfo{
	{AuditSignedIn, "Signed in"},
	{AuditSignedOut, "Signed out"},
	{AuditSignInFailed, "Sign-in failed"},
	{AuditCodeRefused, "Sign-in code refused"},
	{AuditConfirmRefused, "Password refused while signed in"},
	{AuditThrottled, "Too many attempts"},
	{AuditForbidden, "Page refused by role"},
	{AuditPasswordChanged, "Password changed"},
	{AuditPasswordReset, "Password reset by email"},
	{AuditSessionsEnded, "Other browsers signed out"},
	{AuditTwoStepOn, "Two-step sign-in turned on"},
	{AuditTwoStepOff, "Two-step sign-in turned off"},
	{AuditRecoveryCodesMade, "New recovery codes made"},
	{AuditRecoveryCodeUsed, "Recovery code used"},
	{AuditPasskeyAdded, "Passkey added"},
	{AuditPasskeyRemoved, "Passkey removed"},
	{AuditFactorsReset, "Second factors removed by an operator"},
	{AuditStaffNamed, "Own name changed"},
	{AuditEmailsChosen, "Own alert emails changed"},
	{AuditInvited, "Invited to the team"},
	{AuditInvitationRevoked, "Invitation withdrawn"},
	{AuditInvitationCopied, "Invitation’s link shown"},
	{AuditAccessAsked, "Asked an owner for access"},
	{AuditJoined, "Joined the team"},
	{AuditAccountOpened, "Account opened"},
	{AuditAccountApproved, "Account approved for live mode"},
	{AuditAccountCreated, "Account created by an operator"},
	{AuditAccountChanged, "Settings changed"},
	{AuditPlanChanged, "Plan changed"},
	{AuditSubscribed, "Plan chosen"},
	{AuditSubscriptionCancelled, "Plan cancelled"},
	{AuditReactivated, "Plan taken up again"},
	{AuditBillingEmail, "Billing email changed"},
	{AuditBuyer, "Invoice details changed"},
	{AuditSpendLimits, "Spend cap or alerts changed"},
	{AuditCardPage, "Went to store a card"},
	{AuditCardStored, "Card stored"},
	{AuditCardRemoved, "Card removed"},
	{AuditInvoicePaid, "Invoice paid"},
	{AuditInvoiceFailed, "Payment failed"},
	{AuditInvoiceVoid, "Invoice voided"},
	{AuditRedelivered, "Webhook sent again"},
	{AuditDeliveryCancelled, "Webhook stopped"},
	{AuditSSORefused, "Company sign-in refused"},
	{AuditSSOLinked, "Member linked to company sign-in"},
	{AuditSSOJoined, "Joined by company sign-in"},
	{AuditSSOEnded, "Signed out by the company"},
	{AuditSSOChanged, "Company sign-in changed"},
	{AuditSSORemoved, "Company sign-in removed"},
	{AuditSSODomainAdded, "Company domain added"},
	{AuditSSODomainVerified, "Company domain verified"},
	{AuditSSODomainRemoved, "Company domain removed"},
	{AuditSSOOnly, "Only company sign-in changed"},
	{AuditRedeliveryStarted, "Failed webhooks sent again"},
	{AuditRedeliveryStopped, "Sending again stopped"},
	{AuditWebhookURL, "Default webhook URL changed"},
	{AuditEndpointCreated, "Webhook endpoint added"},
	{AuditEndpointChanged, "Webhook endpoint changed"},
	{AuditEndpointDeleted, "Webhook endpoint deleted"},
	{AuditSecretShown, "Webhook secret shown"},
	{AuditSecretNext, "Next webhook secret made"},
	{AuditSecretSwitched, "Switched to the next secret"},
	{AuditSecretRestored, "Previous secret restored"},
	{AuditSecretAbandoned, "Next secret abandoned"},
	{AuditTestEvent, "Test event sent"},
	{AuditKeyCreated, "API key created"},
	{AuditKeyChanged, "API key changed"},
	{AuditKeyRotated, "API key rotated"},
	{AuditKeyDeleted, "API key deleted"},
	{AuditRoleChanged, "Role changed"},
	{AuditStaffRemoved, "Removed from the team"},
	{AuditLogExported, "Audit log exported"},
	{AuditSessionCreated, "Session created by hand"},
	{AuditSessionCancelled, "Session cancelled"},
	{AuditSessionExtended, "Link extended"},
	{AuditLinkRenewed, "Link renewed"},
	{AuditLinkEmailed, "Link to be emailed"},
	{AuditSessionsExported, "Sessions exported"},
	{AuditDataRead, "Data read"},
	{AuditPDFRead, "PDF downloaded"},
	{AuditDocumentRead, "Document downloaded"},
	{AuditSessionErased, "Customer’s data deleted"},
}

// AuditActions lists the actions.
var AuditActions = keys(AuditTable, func(info AuditActionInfo) AuditAction { return info.Action })

var auditActions = byKey(AuditTable, func(info AuditActionInfo) AuditAction { return info.Action })

// Words names the action in the dashboard. An action of an older release keeps
// its own name.
func (a AuditAction) Words() string { return cmp.Or(auditActions[a].Words, string(a)) }
