package dashboard

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"candor/internal/domain"
)

// Live is what a page follows while it is open: a part of it has the attributes of
// Page.following, and an hx-trigger that names the topics, "session from:#live".
type Live struct {
	Topics  domain.Topics
	Session *domain.SessionID // of one session alone
	Pause   int               // seconds between two looks at least; 0 is 1, SlowPause the most
}

// SlowPause suits a page that takes long to draw, in seconds.
const SlowPause = 10

// follows are the topics that the page follows and its reader may.
func (p Page) follows() domain.Topics {
	if p.Self == "" || p.Staff == nil {
		return 0
	}
	return p.Staff.Follows(p.Live.Topics, p.Live.Session != nil)
}

// stream is the address of the page's stream of changes.
func (p Page) stream() string {
	query := url.Values{"on": {p.topics(",")}, "since": {strconv.FormatInt(time.Now().UnixMilli(), 10)}}
	if p.Live.Session != nil {
		query.Set("session", p.Live.Session.String())
	}
	if p.Live.Pause > 0 {
		query.Set("every", strconv.Itoa(p.Live.Pause))
	}
	return p.URL("live") + "?" + query.Encode()
}

// connecting are the attributes of the element that opens the stream. They stand here
// because htmx's checker doesn't know that hx-sse:connect makes a request.
func (p Page) connecting() templ.Attributes {
	return templ.Attributes{
		"hx-sse:connect": p.stream(), "hx-sse:close": "end", "hx-trigger": "connect", "hx-swap": "none", "hx-headers": byItself,
	}
}

func (p Page) topics(separator string) string {
	return strings.Join(p.follows().Names(), separator)
}

// following are the attributes of the element with that id, which fetches itself again
// when one of the topics changes that its hx-trigger names. Folds, focus and what was
// typed stay as they are.
func (p Page) following(id string) templ.Attributes {
	if p.follows() == 0 {
		return nil
	}
	return templ.Attributes{
		"hx-get": p.Self, "hx-select": "#" + id, "hx-target": "this", "hx-swap": "outerMorph",
		"hx-sync": "this:replace", "hx-headers": byItself,
	}
}

// byItself marks a request that the page makes without its user (web.HeaderByItself).
const byItself = `{"Candor-By-Itself": "1"}`

// NewestParam is the parameter by which a list fetches itself as it was shown: from that
// row down. What came since is counted, so that no row jumps away under its reader.
const NewestParam = "newest"

// From is the page that follows a list from its newest row on.
func (p Page) From(newest string) Page {
	if p.Self != "" {
		separator := "?"
		if strings.Contains(p.Self, "?") {
			separator = "&"
		}
		p.Self += separator + url.Values{NewestParam: {newest}}.Encode()
	}
	return p
}

// newRows says how many rows came since the list was shown.
func (p Page) newRows() string {
	if p.Newer >= domain.NewMost {
		return number(domain.NewMost) + " or more new"
	}
	return number(p.Newer) + " new"
}
