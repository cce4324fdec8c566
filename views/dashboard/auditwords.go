package dashboard

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"candor/internal/domain"
)

// auditWords are the actions as people say them, in the audit log, its filter
// and a session's timeline.
var auditWords = map[domain.AuditAction]string{
	domain.AuditSignedIn:  "Signed in",
	domain.AuditSignedOut: "Signed out",

	domain.AuditSignInFailed:   "Sign-in failed",
	domain.AuditCodeRefused:    "Sign-in code refused",
	domain.AuditConfirmRefused: "Password refused while signed in",
	domain.AuditThrottled:      "Too many attempts",
	domain.AuditForbidden:      "Page refused by role",

	domain.AuditPasswordChanged:   "Password changed",
	domain.AuditPasswordReset:     "Password reset by e-mail",
	domain.AuditSessionsEnded:     "Other browsers signed out",
	domain.AuditTwoStepOn:         "Two-step sign-in turned on",
	domain.AuditTwoStepOff:        "Two-step sign-in turned off",
	domain.AuditRecoveryCodesMade: "New recovery codes made",
	domain.AuditRecoveryCodeUsed:  "Recovery code used",
	domain.AuditPasskeyAdded:      "Passkey added",
	domain.AuditPasskeyRemoved:    "Passkey removed",
	domain.AuditFactorsReset:      "Second factors removed by an operator",
	domain.AuditStaffNamed:        "Own name changed",
	domain.AuditInvited:           "Invited to the team",
	domain.AuditInvitationRevoked: "Invitation withdrawn",
	domain.AuditJoined:            "Joined the team",
	domain.AuditRoleChanged:       "Role changed",
	domain.AuditStaffRemoved:      "Removed from the team",

	domain.AuditAccountOpened:   "Account opened",
	domain.AuditAccountApproved: "Account approved for live mode",
	domain.AuditAccountCreated:  "Account created by an operator",
	domain.AuditAccountChanged:  "Settings changed",

	domain.AuditPlanChanged:           "Plan changed",
	domain.AuditSubscribed:            "Plan chosen",
	domain.AuditSubscriptionCancelled: "Plan cancelled",
	domain.AuditReactivated:           "Plan taken up again",
	domain.AuditBillingEmail:          "Billing e-mail changed",
	domain.AuditCardPage:              "Went to store a card",
	domain.AuditCardStored:            "Card stored",
	domain.AuditCardRemoved:           "Card removed",
	domain.AuditInvoicePaid:           "Invoice paid",
	domain.AuditInvoiceFailed:         "Payment failed",
	domain.AuditInvoiceVoid:           "Invoice voided",

	domain.AuditRedelivered:       "Webhook sent again",
	domain.AuditDeliveryCancelled: "Webhook stopped",
	domain.AuditRedeliveryStarted: "Failed webhooks sent again",
	domain.AuditRedeliveryStopped: "Sending again stopped",
	domain.AuditWebhookURL:        "Default webhook URL changed",
	domain.AuditSecretShown:       "Webhook secret shown",
	domain.AuditSecretNext:        "Next webhook secret made",
	domain.AuditSecretSwitched:    "Switched to the next secret",
	domain.AuditSecretRestored:    "Previous secret restored",
	domain.AuditSecretAbandoned:   "Next secret abandoned",
	domain.AuditTestEvent:         "Test event sent",

	domain.AuditKeyCreated: "API key created",
	domain.AuditKeyRenamed: "API key renamed",
	domain.AuditKeyRotated: "API key rotated",
	domain.AuditKeyDeleted: "API key deleted",

	domain.AuditLogExported:      "Audit log exported",
	domain.AuditSessionCreated:   "Session created by hand",
	domain.AuditSessionCancelled: "Session cancelled",
	domain.AuditSessionExtended:  "Link extended",
	domain.AuditSessionsExported: "Sessions exported",
	domain.AuditDataRead:         "Data read",
	domain.AuditPDFRead:          "PDF downloaded",
	domain.AuditDocumentRead:     "Document downloaded",
	domain.AuditSessionErased:    "Customer’s data deleted",
}

// auditWord is an action as people say it.
func auditWord(a domain.AuditAction) string {
	if word, ok := auditWords[a]; ok {
		return word
	}
	return string(a) // one of an older release
}

// actorNote says what an actor is, where that isn't plain, and from where.
func actorNote(e *domain.AuditEntry) string {
	kind := map[domain.ActorKind]string{domain.ActorKey: "API key", domain.ActorOperator: "Operator", domain.ActorSystem: "Automatically"}[e.ActorKind]
	return strings.Trim(kind+", "+e.Address, ", ")
}

// auditSession is the id of the session that an entry is about, "" for none.
func auditSession(e *domain.AuditEntry) string {
	if _, err := domain.ParseSessionID(e.TargetID); err != nil || e.Livemode == nil {
		return ""
	}
	return e.TargetID
}

// changes are an entry's changes, one a field: "role: support → owner".
func changes(e *domain.AuditEntry) []string {
	before, after := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	// What isn't an object is shown by its action alone.
	_ = json.Unmarshal(e.Before, &before)
	_ = json.Unmarshal(e.After, &after)
	names := maps.Clone(before)
	maps.Copy(names, after)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, is := plain(before[name]), plain(after[name])
		name = strings.ReplaceAll(name, "_", " ")
		switch {
		case was == is:
		case was == "":
			out = append(out, name+": "+is)
		case is == "":
			out = append(out, name+": "+was+" → none")
		default:
			out = append(out, name+": "+was+" → "+is)
		}
	}
	return out
}

// plain is a JSON value as people read it: a text without quotes, a list with
// commas, a time like any other; "" for null.
func plain(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if at, err := time.Parse(time.RFC3339, text); err == nil {
			return When(at)
		}
		return text
	}
	var list []string
	if json.Unmarshal(raw, &list) == nil {
		return strings.Join(list, ", ")
	}
	return string(raw)
}
