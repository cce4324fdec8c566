package dashboard

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/home"
	view "candor/views/dashboard"
)

// figuresDays is how many days the page of figures shows unless it is asked for others.
const figuresDays = 30

// figuresFilter is what the page of figures is of: days, and what it counts by.
type figuresFilter struct {
	first, last time.Time // dates
	by          string
}

func figuresControls(cal calendar, members []string) []control[figuresFilter] {
	day := func(name, label string, which end, field func(*figuresFilter) *time.Time) control[figuresFilter] {
		c := dayControl(cal, name, label, which, func(*figuresFilter, time.Time) {})
		c.read = func(f *figuresFilter, text string) string {
			day, message := cal.day(label, text, which)
			*field(f) = day
			return message
		}
		return c
	}
	return []control[figuresFilter]{
		day("from", "Created from", theFirst, func(f *figuresFilter) *time.Time { return &f.first }),
		day("to", "Created until", theLast, func(f *figuresFilter) *time.Time { return &f.last }),
		chooses("by", "Counted by", view.ByWay, view.FigureOptions(members), func(f *figuresFilter) *string { return &f.by }),
	}
}

// readFigures reads what the page is of. What isn't said is the last days, and the link's way.
// members of metadata are those that can be chosen.
func (s *Server) readFigures(values url.Values, v *Visit, members []string) (figuresFilter, view.Filters, form.Errors) {
	cal := s.calendar(v)
	f, shown, errs := readFilters(values, figuresControls(cal, members))
	if f.last.IsZero() {
		f.last = cal.today
		if !f.first.IsZero() && f.first.After(f.last) {
			f.last = f.first
		}
	}
	if f.first.IsZero() {
		f.first = f.last.AddDate(0, 0, 1-figuresDays)
	}
	if f.by == "" {
		f.by = domain.FigureWay
	}
	switch days := int(f.last.Sub(f.first)/(24*time.Hour)) + 1; {
	case len(errs) > 0 && (days < 1 || days > home.RangeMost): // of an end that wasn't typed
	case days > home.RangeMost:
		errs = append(errs, form.Error{Field: "from",
			Message: "Choose at most " + strconv.Itoa(home.RangeMost) + " days under “Created from” and “Created until”"})
	default:
		return f, shown, errs
	}
	f.last = cal.today
	f.first = f.last.AddDate(0, 0, 1-figuresDays)
	return f, shown, errs
}

// figures reads the page's figures.
func (s *Server) figures(c echo.Context, v *Visit) (view.FiguresPage, form.Errors, error) {
	members, err := s.Home.FigureMembers(c.Request().Context(), v.Scope)
	if err != nil {
		return view.FiguresPage{}, nil, err
	}
	f, shown, errs := s.readFigures(c.QueryParams(), v, members)
	page := view.FiguresPage{Page: s.page(v, "Figures"), Filters: shown, By: f.by}
	page.Errors, page.Of = view.ErrorItems(errs), shown.Title()
	figures, err := s.Home.Range(c.Request().Context(), v.Scope, v.Staff.Zone(), f.first, f.last, f.by)
	if err != nil {
		return page, errs, err
	}
	page.First, page.Last, page.Now, page.Before = figures.First, figures.Last, *figures.Now, *figures.Before
	page.BeforeFirst, page.BeforeLast = figures.BeforeFirst, figures.Till
	page.Funnel, page.Earlier, page.Refused = *figures.Funnel, *figures.Earlier, figures.Refused
	page.Values, page.ValuesBefore = figures.By, figures.ByBefore
	return page, errs, nil
}

// ShowFigures shows the figures of some days beside those of as many days before.
func (s *Server) ShowFigures(c echo.Context, v *Visit) error {
	page, _, err := s.figures(c, v)
	if err != nil {
		return err
	}
	return web.Render(c, http.StatusOK, view.Figures(page))
}

// ExportFigures sends one of the page's tables as CSV, in the words of the page.
func (s *Server) ExportFigures(c echo.Context, v *Visit) error {
	page, errs, err := s.figures(c, v)
	if err != nil {
		return err
	}
	tables := page.Tables()
	of := cmp.Or(c.QueryParam("of"), tables[0].ID)
	at := slices.IndexFunc(tables, func(t view.FigureTable) bool { return t.ID == of })
	if at < 0 {
		errs = append(errs, noChoice("of"))
	}
	if len(errs) > 0 {
		return web.Invalid(errs)
	}
	table := tables[at]
	return web.StreamCSV(c, s.Logger, s.Clock.Now().In(v.Staff.Zone()), table.ID+"_"+view.ModeName(v.Scope.Livemode), table.Columns,
		func(write web.WriteRow) error {
			for _, row := range table.Rows {
				if err := write(row.CSV()...); err != nil {
					return err
				}
			}
			return nil
		})
}
