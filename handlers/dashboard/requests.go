package dashboard

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/form"
	view "candor/views/dashboard"
)

// requestsPerPage is how many API requests a page lists.
const requestsPerPage = 50

// requestsPause is how often the log is looked at while requests come, in seconds.
const requestsPause = 3

// ShowRequests lists the latest API requests.
func (s *Server) ShowRequests(c echo.Context, v *Visit) error {
	ctx := c.Request().Context()
	keys, err := s.Keys.ListAll(ctx, v.Scope)
	if err != nil {
		return err
	}
	filter, shown, errs := readRequestFilters(c.QueryParams(), keys, s.calendar(v))
	before, err := beforeIn(c, domain.ParseRequestID)
	if err != nil {
		return err
	}
	page := view.RequestsPage{
		Page: s.page(v, "API requests"), Filters: shown, First: before == nil,
		Reach: domain.RequestReach,
	}
	page.Errors, page.Keys, page.Of = view.ErrorItems(errs), keys, shown.Title()
	page.Live = view.Live{Topics: domain.RequestLogged, Pause: requestsPause}
	newest, err := newestIn(c, domain.ParseRequestID)
	if err != nil {
		return err
	}
	if errs == nil && page.First && newest != nil {
		latest, _, _, err := s.RequestLog.Page(ctx, v.Scope, filter, nil, domain.NewMost)
		if err != nil {
			return err
		}
		page.Newer = countNewer(latest, func(r domain.APIRequest) bool { return r.ID.Compare(*newest) > 0 })
		next := newest.Next()
		before = &next
	}
	if errs == nil {
		page.Requests, page.More, page.Exhausted, err = s.RequestLog.Page(ctx, v.Scope, filter, before, requestsPerPage)
	}
	if err == nil && errs == nil && page.First && !web.Enhanced(c) {
		page.Spans, page.AllSummed, err = s.RequestLog.Spans(ctx, v.Scope, filter)
	}
	if err != nil {
		return err
	}
	if filter.ID != nil && len(page.Requests) == 0 {
		page.OtherMode = s.inOtherMode(c, v, page.Page, filter.ID.String())
	}
	if page.First && newest == nil && len(page.Requests) > 0 {
		page.Page = page.From(page.Requests[0].ID.String())
	}
	return web.Render(c, http.StatusOK, view.Requests(page))
}

// ShowRequest shows an API request.
func (s *Server) ShowRequest(c echo.Context, v *Visit, id domain.RequestID) error {
	ctx := c.Request().Context()
	one, err := s.RequestLog.Get(ctx, v.Scope, id)
	if err != nil {
		return err
	}
	page := view.RequestPage{Page: s.page(v, "API request"), Request: one, BaseURL: s.BaseURL}
	page.Of = strings.TrimSpace(one.Method + " " + one.Route)
	if page.Keys, err = s.Keys.ListAll(ctx, v.Scope); err != nil {
		return err
	}
	return web.Render(c, http.StatusOK, view.Request(page))
}

// requestControls are the filters of the log of API requests with those keys.
func requestControls(keys []domain.APIKey, cal calendar) []control[requestFilter] {
	type filter = requestFilter
	return []control[filter]{
		{Control: view.Control{Name: "id", Label: "Request id", Type: "search", Example: "req_…"},
			read: func(f *filter, text string) string {
				id, err := domain.ParseRequestID(text)
				if f.ID = &id; err != nil {
					return "Enter a whole request id, as in X-Request-Id: req_ and 26 characters"
				}
				return ""
			}},
		chooses("status", "Status", "All", choices(statusChoices()), func(f *filter) *string { return &f.status }),
		chooses("code", "Error code", "All", choices(codesOf(0)), func(f *filter) *domain.Code { return &f.code }),
		chooses("method", "Method", "All", choices(domain.RequestMethods), func(f *filter) *string { return &f.Method }),
		{Control: view.Control{Name: "key", Label: "Key", All: "All", Options: view.KeyOptions(keys)},
			read: func(f *filter, text string) string {
				at := slices.IndexFunc(keys, func(k domain.APIKey) bool { return k.ID.String() == text })
				if at < 0 {
					return notOffered
				}
				f.Key = &keys[at].ID
				return ""
			}},
		timeControl(cal, "from", "From", theFirst, func(f *filter, t *time.Time) { f.From = t }),
		timeControl(cal, "to", "Until", theLast, func(f *filter, t *time.Time) { f.To = t }),
	}
}

// A requestFilter filters the log, with the status and the code as chosen.
type requestFilter struct {
	domain.RequestFilter
	status string
	code   domain.Code
}

// readRequestFilters reads the filters of the log, and reports invalid ones.
func readRequestFilters(values url.Values, keys []domain.APIKey, cal calendar) (domain.RequestFilter, view.Filters, form.Errors) {
	f, shown, errs := readFilters(values, requestControls(keys, cal))
	f.Status, f.Codes = statusAndCodes(f.status, f.code)
	if f.From != nil && f.To != nil && !f.From.Before(*f.To) {
		errs = append(errs, form.Error{Field: "to", Message: "Until must be after from"})
	}
	return f.RequestFilter, shown, errs
}

// statusAndCodes reads a status such as 404, or 4xx for a class, and an error
// code. It returns the codes that match both, which an index finds.
func statusAndCodes(text string, code domain.Code) (status int, codes []domain.Code) {
	text, class := strings.CutSuffix(text, "xx")
	status, err := strconv.Atoi(text)
	if err != nil || class && (status < 2 || status > 5) || !class && !slices.Contains(callStatuses(), status) {
		status = 0
	}
	known := code.Status() != 0
	switch {
	case known && matchesStatus(code.Status(), status):
		return status, []domain.Code{code}
	case known:
		return status, []domain.Code{}
	case status >= 100 && !slices.Contains(successes, status), status >= 4 && status < 10:
		return status, codesOf(status)
	}
	return status, nil
}

// statusChoices are the statuses and classes of statuses that the log can be
// filtered by.
func statusChoices() []string {
	out := []string{"2xx", "4xx", "5xx"}
	for _, status := range callStatuses() {
		out = append(out, strconv.Itoa(status))
	}
	return out
}

// successes are the statuses of answers without an error code.
var successes = []int{http.StatusOK, http.StatusCreated}

// callStatuses are the statuses that the API answers with, ascending.
func callStatuses() []int {
	out := slices.Clone(successes)
	for _, info := range domain.CodeTable {
		out = append(out, info.Status)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// codesOf are the error codes of a status, of a class by its first digit, or of
// any status for 0, in alphabetical order.
func codesOf(status int) (out []domain.Code) {
	for _, info := range domain.CodeTable {
		if matchesStatus(info.Status, status) {
			out = append(out, info.Code)
		}
	}
	slices.Sort(out)
	return out
}

func matchesStatus(status, wanted int) bool {
	return wanted == 0 || wanted == status || wanted == status/100
}
