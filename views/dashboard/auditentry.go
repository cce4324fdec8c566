package dashboard

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"candor/internal/domain"
)

// actorNote is an actor's kind, unless it is staff, and address.
func actorNote(e *domain.AuditEntry) string {
	kind := map[domain.ActorKind]string{domain.ActorKey: "API key", domain.ActorOperator: "Operator",
		domain.ActorSystem: "Automatically"}[e.ActorKind]
	return strings.Trim(kind+", "+e.Address, ", ")
}

// auditSession is the id of the session that an entry is about, "" for none.
func auditSession(e *domain.AuditEntry) string {
	if _, err := domain.ParseSessionID(e.TargetID); err != nil || e.Livemode == nil {
		return ""
	}
	return e.TargetID
}

// timesOf says how often and when the entry was done, "" for once.
func timesOf(ctx context.Context, e *domain.AuditEntry) string {
	if e.Until == nil {
		return ""
	}
	return count(e.Times, "time") + " between " + When(ctx, e.At) + " and " + When(ctx, *e.Until)
}

// changes are an entry's changes, one a field: "role: support → owner".
func changes(ctx context.Context, e *domain.AuditEntry) []string {
	before, after := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	// What isn't an object is shown by its action alone.
	_ = json.Unmarshal(e.Before, &before)
	_ = json.Unmarshal(e.After, &after)
	names := maps.Clone(before)
	maps.Copy(names, after)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, is := plain(ctx, before[name]), plain(ctx, after[name])
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
func plain(ctx context.Context, raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if at, err := time.Parse(time.RFC3339, text); err == nil {
			return When(ctx, at)
		}
		return text
	}
	var list []string
	if json.Unmarshal(raw, &list) == nil {
		return strings.Join(list, ", ")
	}
	return string(raw)
}
