package dashboard

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"candor/internal/domain"
	"candor/internal/statement"
)

// A TimelineEntry is one thing that happened to a session.
type TimelineEntry struct {
	At     time.Time
	Title  string
	Change string // as the audit log says it, "" if the title says all
	Detail string
}

// EntryOfEvent is an event of a session in words.
func EntryOfEvent(e *domain.Event) TimelineEntry {
	m := TimelineEntry{At: e.CreatedAt, Title: cmp.Or(e.Type.Info().Words, string(e.Type))}
	var body struct {
		Data struct {
			UserAgent string `json:"user_agent"`
			IPAddress string `json:"ip_address"`
			Section   string `json:"section"`
			PageCount int    `json:"page_count"`
		} `json:"data"`
	}
	if json.Unmarshal(e.Body, &body) != nil {
		return m
	}
	switch e.Type {
	case domain.SessionAccessed:
		m.Detail = strings.Trim(Device(body.Data.UserAgent)+", "+body.Data.IPAddress, ", ")
	case domain.SessionSectionCompleted:
		m.Title = "Section completed: " + statement.Title(body.Data.Section)
		if body.Data.Section == "" { // erased
			m.Title = "A section was completed"
		}
	case domain.SessionPDFReady:
		if body.Data.PageCount > 0 {
			m.Detail = count(body.Data.PageCount, "page")
		}
	}
	return m
}

// EntryOfAudit is a line of the audit log about a session in words.
func EntryOfAudit(ctx context.Context, e *domain.AuditEntry) TimelineEntry {
	m := TimelineEntry{At: e.At, Title: e.Action.Words(), Detail: e.ActorName}
	if e.ActorKind == domain.ActorKey {
		m.Detail = "API key " + e.ActorName
	}
	if e.Address != "" {
		m.Detail += ", " + e.Address
	}
	if e.Action == domain.AuditSessionExtended {
		m.Change = strings.Join(changes(ctx, e), ", ")
	}
	if e.Times > 1 {
		m.Title += " " + count(e.Times, "time")
	}
	return m
}

// Ordered returns the entries of a session, its creation among them, the
// latest first.
func Ordered(s *domain.Session, entries []TimelineEntry) []TimelineEntry {
	created := TimelineEntry{At: s.CreatedAt, Title: "Created"}
	if s.CreatedBy != nil {
		created.Detail = strings.TrimSpace(byWord(*s.CreatedByKind) + " " + *s.CreatedBy)
	}
	entries = slices.DeleteFunc(entries, func(m TimelineEntry) bool { return m.Title == domain.AuditSessionCreated.Words() })
	entries = append([]TimelineEntry{created}, entries...)
	slices.Reverse(entries) // what happened at one moment, too
	slices.SortStableFunc(entries, func(a, b TimelineEntry) int { return b.At.Compare(a.At) })
	return entries
}

// Device names the browser and system of a User-Agent header, as far as they
// are well known.
func Device(agent string) string {
	find := func(names [][2]string) string {
		for _, n := range names {
			if strings.Contains(agent, n[0]) {
				return n[1]
			}
		}
		return ""
	}
	browser := find([][2]string{
		{"Edg/", "Edge"}, {"OPR/", "Opera"}, {"SamsungBrowser/", "Samsung Internet"}, {"Firefox/", "Firefox"}, {"FxiOS/", "Firefox"},
		{"CriOS/", "Chrome"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"},
	})
	system := find([][2]string{
		{"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Android", "Android"}, {"Windows", "Windows"}, {"Macintosh", "Mac"},
		{"CrOS", "ChromeOS"}, {"Linux", "Linux"},
	})
	switch {
	case browser != "" && system != "":
		return browser + " on " + system
	case browser+system != "":
		return browser + system
	case agent != "":
		return "An unknown browser"
	}
	return ""
}

type metadatum struct{ key, value string }

// metadata are a session's own data by key, texts without their quotes.
func metadata(m domain.Metadata) []metadatum {
	var out []metadatum
	for _, key := range slices.Sorted(maps.Keys(m)) {
		value := string(m[key])
		var text string
		if json.Unmarshal(m[key], &text) == nil {
			value = text
		}
		out = append(out, metadatum{key, value})
	}
	return out
}

// count is a number of things: "1 session", "12,345 sessions".
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return number(n) + " " + thing
}

// number is a number as people read it, "12,345".
func number(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func orDash(s *string) string {
	if s == nil || *s == "" {
		return "–"
	}
	return *s
}

// link is a path with a query of the names and values that follow, those that
// aren't empty.
func link(path string, pairs ...string) string {
	values := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			values.Set(pairs[i], pairs[i+1])
		}
	}
	if len(values) == 0 {
		return path
	}
	return path + "?" + values.Encode()
}
