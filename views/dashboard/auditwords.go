package dashboard

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"candor/intake"
)

// auditWords are the actions as people say them, in the audit log, its filter
// and a session's timeline.
var auditWords = map[intake.AuditAction]string{
	intake.AuditSignedIn:  "Signed in",
	intake.AuditSignedOut: "Signed out",

	intake.AuditSignInFailed:   "Sign-in failed",
	intake.AuditCodeRefused:    "Sign-in code refused",
	intake.AuditConfirmRefused: "Password refused while signed in",
	intake.AuditThrottled:      "Too many attempts",
	intake.AuditForbidden:      "Page refused by role",

	intake.AuditPasswordChanged:   "Password changed",
	intake.AuditPasswordReset:     "Password reset by e-mail",
	intake.AuditSessionsEnded:     "Other browsers signed out",
	intake.AuditTwoStepOn:         "Two-step sign-in turned on",
	intake.AuditTwoStepOff:        "Two-step sign-in turned off",
	intake.AuditRecoveryCodesMade: "New recovery codes made",
	intake.AuditRecoveryCodeUsed:  "Recovery code used",
	intake.AuditPasskeyAdded:      "Passkey added",
	intake.AuditPasskeyRemoved:    "Passkey removed",
	intake.AuditFactorsReset:      "Second factors removed by an operator",
	intake.AuditStaffNamed:        "Own name changed",
	intake.AuditInvited:           "Invited to the team",
	intake.AuditInvitationRevoked: "Invitation withdrawn",
	intake.AuditJoined:            "Joined the team",
	intake.AuditRoleChanged:       "Role changed",
	intake.AuditStaffRemoved:      "Removed from the team",

	intake.AuditAccountOpened:   "Account opened",
	intake.AuditAccountApproved: "Account approved for live mode",
	intake.AuditAccountCreated:  "Account created by an operator",
	intake.AuditAccountChanged:  "Settings changed",

	intake.AuditPlanChanged:           "Plan changed",
	intake.AuditSubscribed:            "Plan chosen",
	intake.AuditSubscriptionCancelled: "Plan cancelled",
	intake.AuditReactivated:           "Plan taken up again",
	intake.AuditBillingEmail:          "Billing e-mail changed",
	intake.AuditCardPage:              "Went to store a card",
	intake.AuditCardStored:            "Card stored",
	intake.AuditCardRemoved:           "Card removed",
	intake.AuditInvoicePaid:           "Invoice paid",
	intake.AuditInvoiceFailed:         "Payment failed",
	intake.AuditInvoiceVoid:           "Invoice voided",

	intake.AuditRedelivered:       "Webhook sent again",
	intake.AuditDeliveryCancelled: "Webhook stopped",
	intake.AuditRedeliveryStarted: "Failed webhooks sent again",
	intake.AuditRedeliveryStopped: "Sending again stopped",
	intake.AuditWebhookURL:        "Default webhook URL changed",
	intake.AuditSecretShown:       "Webhook secret shown",
	intake.AuditSecretNext:        "Next webhook secret made",
	intake.AuditSecretSwitched:    "Switched to the next secret",
	intake.AuditSecretRestored:    "Previous secret restored",
	intake.AuditSecretAbandoned:   "Next secret abandoned",
	intake.AuditTestEvent:         "Test event sent",

	intake.AuditKeyCreated: "API key created",
	intake.AuditKeyRenamed: "API key renamed",
	intake.AuditKeyRotated: "API key rotated",
	intake.AuditKeyDeleted: "API key deleted",

	intake.AuditLogExported:      "Audit log exported",
	intake.AuditSessionCreated:   "Session created by hand",
	intake.AuditSessionCancelled: "Session cancelled",
	intake.AuditSessionExtended:  "Link extended",
	intake.AuditSessionsExported: "Sessions exported",
	intake.AuditDataRead:         "Data read",
	intake.AuditPDFRead:          "PDF downloaded",
	intake.AuditDocumentRead:     "Document downloaded",
	intake.AuditSessionErased:    "Customer’s data deleted",
}

// auditWord is an action as people say it.
func auditWord(a intake.AuditAction) string {
	if word, ok := auditWords[a]; ok {
		return word
	}
	return string(a) // one of an older release
}

// actorNote says what an actor is, where that isn't plain, and from where.
func actorNote(e *intake.AuditEntry) string {
	kind := map[intake.ActorKind]string{intake.ActorKey: "API key", intake.ActorOperator: "Operator", intake.ActorSystem: "Automatically"}[e.ActorKind]
	return strings.Trim(kind+", "+e.Address, ", ")
}

// auditSession is the id of the session that an entry is about, "" for none.
func auditSession(e *intake.AuditEntry) string {
	if _, err := intake.ParseSessionID(e.TargetID); err != nil || e.Livemode == nil {
		return ""
	}
	return e.TargetID
}

// changes are an entry's changes, one a field: "role: support → owner".
func changes(e *intake.AuditEntry) []string {
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
