package dashboard

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/form"
	view "candor/views/dashboard"
)

// requestsPerPage is how many API requests a page lists.
const requestsPerPage = 50

// ShowRequests lists the latest API requests.
func (s *Server) ShowRequests(c echo.Context, v *Visit) error {
	ctx := c.Request().Context()
	keys, err := s.Keys.ListAll(ctx, v.Scope)
	if err != nil {
		return err
	}
	filter, shown, errs := requestFilter(c.QueryParams(), keys)
	before, err := beforeIn(c, domain.ParseRequestID)
	if err != nil {
		return err
	}
	page := view.RequestsPage{
		Page: s.page(v, "API requests"), Filters: shown, First: before == nil,
		Methods: domain.RequestMethods, Statuses: callStatuses(), Codes: codesOf(0), Reach: domain.RequestReach,
	}
	page.Errors, page.Keys = web.ErrorItems(errs), keys
	if errs == nil {
		page.Requests, page.More, page.Exhausted, err = s.RequestLog.Page(ctx, v.Scope, filter, before, requestsPerPage)
	}
	if err != nil {
		return err
	}
	return web.Render(c, http.StatusOK, view.Requests(page))
}

// ShowRequest shows an API request.
func (s *Server) ShowRequest(c echo.Context, v *Visit) error {
	ctx := c.Request().Context()
	id, err := domain.ParseRequestID(c.Param("request"))
	if err != nil {
		return echo.ErrNotFound
	}
	one, err := s.RequestLog.Get(ctx, v.Scope, id)
	if err != nil {
		return err
	}
	page := view.RequestPage{Page: s.page(v, "API request"), Request: one}
	if page.Keys, err = s.Keys.ListAll(ctx, v.Scope); err != nil {
		return err
	}
	return web.Render(c, http.StatusOK, view.Request(page))
}

// requestFilter reads the filters of the log of API requests with those keys,
// and reports invalid ones.
func requestFilter(values url.Values, keys []domain.APIKey) (f domain.RequestFilter, shown view.RequestFilters, errs form.Errors) {
	shown = view.RequestFilters{
		ID: strings.TrimSpace(values.Get("id")), Key: values.Get("key"), Method: values.Get("method"), Status: values.Get("status"), Code: values.Get("code"),
		From: values.Get("from"), To: values.Get("to"),
	}
	if shown.ID != "" {
		id, err := domain.ParseRequestID(shown.ID)
		if err != nil {
			errs = append(errs, form.Error{Field: "id", Message: "Enter a whole request id, as in X-Request-Id: req_ and 26 characters"})
		}
		f.ID = &id
	}
	if shown.Key != "" {
		at := slices.IndexFunc(keys, func(k domain.APIKey) bool { return k.ID.String() == shown.Key })
		if at < 0 {
			errs = append(errs, noChoice("key"))
		} else {
			f.Key = &keys[at].ID
		}
	}
	f.Method, errs = choiceIn("method", shown.Method, domain.RequestMethods, errs)
	_, errs = choiceIn("status", shown.Status, statusChoices(), errs)
	_, errs = choiceIn("code", shown.Code, codesOf(0), errs)
	f.Status, f.Codes = statusAndCodes(shown.Status, domain.Code(shown.Code))
	f.From, errs = timeIn("from", shown.From, errs)
	f.To, errs = timeIn("to", shown.To, errs)
	if f.From != nil && f.To != nil && !f.From.Before(*f.To) {
		errs = append(errs, form.Error{Field: "to", Message: "Until must be after from"})
	}
	return f, shown, errs
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
	out := []string{"2xx", "3xx", "4xx", "5xx"}
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
