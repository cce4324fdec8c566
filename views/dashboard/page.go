// Package dashboard draws the pages on which a partner's staff work, as templ
// components over one typed struct for each page. It knows what keys, sessions
// and deliveries look like and must not know requests, rules or storage:
// handlers fill the structs. Every form works as a plain POST without script.
package dashboard

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"candor/internal/domain"
	"candor/views/ui"
)

// Root is the path below which the dashboard is.
const Root = "/dashboard"

// Page is what every page has around its content. Staff is nil for those who
// aren't signed in.
type Page struct {
	Title    string
	Of       string // what the page shows in particular, for the tab's title: a reference, the filters
	Staff    *domain.StaffSession
	Livemode bool
	Current  string         // path of the page's place in the menu, below the mode
	Shared   bool           // what it shows is the same in both modes
	Announce string         // what was just done, shown and read out
	Undone   bool           // Announce says that nothing was done
	Errors   []ui.ErrorItem // of the fields of a posted form
	Refresh  string         // where the browser goes by itself; "" for nowhere
	Now      time.Time
	Self     string // path and query of the page, "" if it answers a posted form
	Live     Live
	Newer    int // rows that came since the list was shown

	List string // the parameters of the filtered list that the page was opened from, "" for none

	searched string // stands in the search field
}

// Mode is the name of the page's mode.
func (p Page) Mode() string { return ModeName(p.Livemode) }

// ModeName is a mode in paths.
func ModeName(live bool) string {
	if live {
		return "live"
	}
	return "test"
}

// URL is the path of a page of the same mode; "" is home.
func (p Page) URL(path string) string { return URL(p.Livemode, path) }

// URL is the path of a page of a mode; "" is home.
func URL(live bool, path string) string {
	if path == "" {
		return Root + "/" + ModeName(live)
	}
	return Root + "/" + ModeName(live) + "/" + path
}

// ListParam is the parameter of a page that was opened from a filtered list: the
// list's own parameters, for the way back.
const ListParam = "list"

// opened is the address of a page that is opened from the list.
func (f Filters) opened(path string) string {
	_, query, _ := strings.Cut(f.query(""), "?")
	return link(path, ListParam, query)
}

// backTo is the path of the list that this page was opened from, filtered as it
// was.
func (p Page) backTo(path string) string {
	query, err := url.ParseQuery(p.List)
	if err != nil || len(query) == 0 {
		return p.URL(path)
	}
	return p.URL(path) + "?" + query.Encode()
}

// keeping is the address of an action on this page, after which the way back leads
// to the same list.
func (p Page) keeping(path string) string { return link(path, ListParam, p.List) }

// onlyReads reports whether the page's fields are disabled and the style hides the buttons of
// its forms (D135): an auditor's are, but the person's own.
func (p Page) onlyReads() bool { return p.Staff.OnlyReads() && p.Current != "me" }

// errorOf is the validation error of the field, "" for none.
func (p Page) errorOf(field string) string {
	for _, item := range p.Errors {
		if item.Target == field {
			return item.Message
		}
	}
	return ""
}

// place is a line of the menu.
type place struct {
	path  string // below the mode, or one that begins with a slash
	title string
	icon  string
	may   domain.Capability
	key   string // which leads there after g; "" for none
}

// placeGroup is a part of the menu.
type placeGroup struct {
	name   string
	places []place
}

func (g placeGroup) id() string { return strings.ToLower(g.name) }

var places = []placeGroup{
	{"Activity", []place{
		{"", "Home", "home", domain.UseDashboard, "h"},
		{"sessions", "Sessions", "sessions", domain.UseSessions, "s"},
		{"figures", "Figures", "figures", domain.UseSessions, "f"},
	}},
	{"Developers", []place{
		{"quickstart", "Quickstart", "quickstart", domain.ManageKeys, "q"},
		{"keys", "API keys", "keys", domain.ManageKeys, "k"},
		{"webhooks", "Webhooks", "webhooks", domain.ManageWebhooks, "w"},
		{"events", "Events", "events", domain.ManageWebhooks, "e"},
		{"requests", "API requests", "requests", domain.ReadRequests, "r"},
		{DocsURL, "Docs", "docs", domain.ReadRequests, "d"},
	}},
	{"Account", []place{
		{"billing", "Billing", "billing", domain.UseBilling, "b"},
		{"team", "Team", "team", domain.ManageAccount, "t"},
		{"audit", "Audit log", "audit", domain.ManageAccount, "l"},
		{"settings", "Settings", "settings", domain.ManageAccount, ","},
	}},
}

// DocsURL is where the docs for developers are.
const DocsURL = "/docs"

// placeURL is where a line of the menu leads.
func (p Page) placeURL(to place) string {
	if strings.HasPrefix(to.path, "/") {
		return to.path
	}
	return p.URL(to.path)
}

// menu are the places that the staff user may go to, in groups. There are none
// until the user has done what must be done first.
func (p Page) menu() (out []placeGroup) {
	if p.Staff.Duty() != domain.NoDuty {
		return nil
	}
	for _, group := range places {
		var open []place
		for _, one := range group.places {
			if p.Staff.Sees(one.may) {
				open = append(open, one)
			}
		}
		if len(open) > 0 {
			out = append(out, placeGroup{group.name, open})
		}
	}
	return out
}

func minutes(d time.Duration) string { return strconv.Itoa(int(d.Minutes())) }
