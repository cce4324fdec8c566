package form

import (
	"cmp"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/service/forms"
	"candor/internal/statement"
	view "candor/views/form"
	"candor/views/i18n"
	"candor/views/pdf"
	"candor/views/ui"
)

// Page makes a handler of work on an open form. If the session is closed, now or
// by the time work changes it, the page says so.
func (s *Server) Page(work func(echo.Context, *visit) error) echo.HandlerFunc {
	return s.handler(s.Forms.Get, work)
}

// Edit is Page for work that reads the sections' answers when it has locked
// them: a save is the most frequent request, and reading costs a fifth of it.
func (s *Server) Edit(work func(echo.Context, *visit) error) echo.HandlerFunc {
	return s.handler(s.Forms.Find, work)
}

func (s *Server) handler(find finder, work func(echo.Context, *visit) error) echo.HandlerFunc {
	return func(c echo.Context) error {
		v, err := s.visit(c, find)
		if err != nil {
			return err
		}
		if chosen, err := s.chooseLanguage(c, v); chosen {
			return err
		}
		if !v.Session.Status.Open() {
			return s.showClosed(c, v)
		}
		err = work(c, v)
		if !web.SessionClosed(err) {
			return err
		}
		if err := v.reload(c.Request().Context(), s.Forms); err != nil {
			return err
		}
		return s.showClosed(c, v)
	}
}

// showClosed shows the state of a closed session and none of its answers (D17):
// 200 for a completed one, 410 for an expired or cancelled one, to a POST as to
// a GET.
func (s *Server) showClosed(c echo.Context, v *visit) error {
	p := s.page(v)
	p.HomeURL, p.Closed = "", true
	if erased := v.Session.CustomerErasedAt; erased != nil {
		return web.Render(c, http.StatusGone, view.Status(view.StatusPage{Page: p, Kind: view.StatusErased, When: *erased}))
	}
	switch v.Session.Status {
	case domain.Expired:
		return web.Render(c, http.StatusGone, view.Status(view.StatusPage{Page: p, Kind: view.StatusExpired,
			When: v.Session.ExpiresAt}))
	case domain.Cancelled:
		return web.Render(c, http.StatusGone, view.Status(view.StatusPage{Page: p, Kind: view.StatusCancelled}))
	}
	if twice, err := s.submittedTwice(c, v); err != nil {
		return err
	} else if twice {
		v.signed = s.Clock.Now()
		if err := s.grant(c, v.Session.ID, v.pass); err != nil {
			return err
		}
	}
	if s.mayCopy(v) {
		if _, err := s.signed(c, v); err != nil {
			return err
		}
		return web.Render(c, http.StatusOK, view.Confirmation(s.confirmation(v)))
	}
	return web.Render(c, http.StatusOK, view.Status(view.StatusPage{Page: p, Kind: view.StatusCompleted,
		When: *v.Session.CompletedAt}))
}

// submittedTwice reports a second submit by the browser that signed, right
// after the first: a double click, whose first response the browser has
// discarded. Another browser with the link gets no PDF (D17).
func (s *Server) submittedTwice(c echo.Context, v *visit) (bool, error) {
	if c.Request().Method != http.MethodPost || sectionOf(c) != statement.DeclarationSection || v.Browser == "" {
		return false, nil
	}
	return s.Forms.SignedBy(c.Request().Context(), v.Session, v.Browser, s.Clock.Now().Add(-doubleClick))
}

// mayCopy reports whether this browser signed and still has the copies (D59).
func (s *Server) mayCopy(v *visit) bool {
	return v.Session.Status == domain.Completed && v.Session.ErasedAt == nil && !v.signed.IsZero() && s.Clock.Now().
		Before(v.copyUntil())
}

// copyUntil is when this browser loses the copies of a completed session (D59), at the latest
// when the account's retention of files ends.
func (v *visit) copyUntil() time.Time {
	until, kept := v.Session.ExpiresAt, v.Session.CompletedAt.Add(v.Account.Retention())
	if atLeast := v.signed.Add(copyAccess); until.Before(atLeast) {
		until = atLeast
	}
	if kept.Before(until) {
		return kept
	}
	return until
}

func (s *Server) confirmation(v *visit) view.ConfirmationPage {
	page := view.ConfirmationPage{
		Page: s.page(v), Reference: v.Session.Reference(), Submitted: *v.Session.CompletedAt,
		CopyURL: formURL(v.Session.ID) + "/pdf", ReadURL: formURL(v.Session.ID) + "/copy", Until: v.copyUntil(),
		CopyReady: v.Session.PDFReadyAt != nil, SelfURL: formURL(v.Session.ID), Return: v.Session.ReturnLink(),
	}
	page.HomeURL, page.Closed = "", true
	return page
}

// copyVisit is the visit of a browser that may have the copies.
func (s *Server) copyVisit(c echo.Context) (*visit, error) {
	v, err := s.visit(c, s.Forms.Get)
	if err == nil && !s.mayCopy(v) {
		err = errNoForm
	}
	return v, err
}

// signed returns what was signed, for the browser that may have the copies.
func (s *Server) signed(c echo.Context, v *visit) (*statement.Statement, error) {
	signed, err := s.Forms.Signed(c.Request().Context(), v.Session.ID)
	keepTime(c, signed)
	return signed, err
}

// DownloadCopy answers with the customer's PDF in the browser that signed: in the page's
// language beside English, or the document itself if that is asked for (D59). Until the
// PDF is ready, it leads back to the confirmation.
func (s *Server) DownloadCopy(c echo.Context) error {
	v, err := s.copyVisit(c)
	if err != nil {
		return err
	}
	content, err := s.Sessions.CustomerPDF(c.Request().Context(), v.Session)
	if errors.Is(err, &domain.Error{Code: domain.CodePDFNotReady}) {
		return c.Redirect(http.StatusSeeOther, formURL(v.Session.ID))
	}
	if err != nil {
		return err
	}
	name := "financial_statement_" + v.Session.ID.String()
	if language := i18n.Language(c.Request().Context()); language != domain.English && c.QueryParam(view.OriginalParam) == "" {
		switch drawn, err := s.drawCopy(c, v); {
		case err == nil:
			name, content = name+"_"+string(language), drawn
		case !errors.Is(err, errUndrawn):
			return err
		}
	}
	c.Response().Header().Set("Content-Disposition", `attachment; filename="`+name+`.pdf"`)
	return c.Blob(http.StatusOK, "application/pdf", content)
}

// errUndrawn says that this process's fonts lack a character of the answers, which that of
// the worker had. The document itself is the copy then (D80).
var errUndrawn = errors.New("a character of the copy has no font")

// drawCopy draws the copy in the page's language. It takes ten milliseconds of a core, so
// it counts as a post of the link.
func (s *Server) drawCopy(c echo.Context, v *visit) ([]byte, error) {
	if err := web.TooMany(s.LinkLimiter.Take(v.Link.Subject(v.Session.ID), s.Clock.Now())); err != nil {
		return nil, err
	}
	signed, err := s.signed(c, v)
	if err != nil {
		return nil, err
	}
	in := pdf.Of(v.Account, v.Session, signed)
	if v.Account.LogoName != nil {
		in.Logo, err = s.Accounts.Logo(c.Request().Context(), *v.Account.LogoName)
		if err != nil && !errors.Is(err, &domain.Error{Code: domain.CodeNotFound}) { // replaced just now
			return nil, err
		}
	}
	result, err := pdf.RenderCopy(c.Request().Context(), in, s.Fonts)
	if err == nil && len(result.Uncovered) > 0 {
		err = errUndrawn
	}
	return result.Bytes, err
}

// ShowCopy shows what was signed in the browser that signed, to read and print
// (D59).
func (s *Server) ShowCopy(c echo.Context) error {
	v, err := s.copyVisit(c)
	if err != nil {
		return err
	}
	signed, err := s.signed(c, v)
	if err != nil {
		return err
	}
	page := view.CheckPage{Page: s.page(v), Documents: signed.Documents, Summary: signed.Summary(), Signed: v.Session.CompletedAt,
		Reference: v.Session.Reference(), Doubts: signed.Confirmed()}
	for _, section := range signed.Sections(s.Clock.Now()) {
		page.Sections = append(page.Sections, view.CheckedSection{Section: section})
	}
	return web.Render(c, http.StatusOK, view.Copy(page))
}

// ShowHub lists the sections.
func (s *Server) ShowHub(c echo.Context, v *visit) error {
	page := view.HubPage{
		Page: s.page(v), Tasks: tasks(v), Expires: v.Session.ExpiresAt,
		Customer: cmp.Or(v.Statement.Personal.FullName, web.Text(v.Session.CustomerName)),
		Couple:   v.Statement.Personal.Household.Couple(),
	}
	page.Return = v.Session.ReturnLink()
	page.Offered = v.offersMore()
	return web.Render(c, http.StatusOK, view.Hub(page))
}

// Preview draws the list of sections as a customer of the account opens it, to be looked at:
// it has no script. words are what is said of the account's colour.
func (s *Server) Preview(account *domain.Account, words string) templ.Component {
	v := &visit{State: &forms.State{
		Session: &domain.Session{Livemode: true}, Account: account, Statement: &statement.Statement{},
	}}
	page := view.HubPage{Page: s.page(v), Tasks: tasks(v), Customer: "Alex Citizen",
		Expires: s.Clock.Now().AddDate(0, 0, account.DefaultExpiresInDays)}
	page.Preview, page.Focus = words, "nothing" // a frame without scripts may not take the focus
	return view.Hub(page)
}

func (s *Server) page(v *visit) view.Page {
	page := view.Page{
		Partner: v.Account.Name, Logo: ui.Logo(v.Account), Test: !v.Session.Livemode, HomeURL: formURL(v.Session.ID),
		Announce:  v.announce,
		Told:      v.followed,
		HelpEmail: web.Text(v.Account.HelpEmail), HelpPhone: web.Text(v.Account.HelpPhone),
		Languages: v.Account.Languages(), MoneyHelp: view.NationalDebtHelpline,
	}
	if own := v.Account.MoneyHelp; own != nil {
		page.MoneyHelp = view.MoneyHelp{Text: *own, URL: web.Text(v.Account.MoneyHelpURL)}
	}
	page.NextSteps = web.Text(v.Account.NextSteps)
	if v.Account.BrandColour != nil {
		page.BrandURL = ui.BrandURL(*v.Account.BrandColour)
	}
	return page
}

// offersMore reports whether answers of a former session wait to be looked at.
func (v *visit) offersMore() bool {
	for name, offer := range v.Statement.Offers {
		if _, begun := v.Sections[name]; offer.Filled() && !begun {
			return true
		}
	}
	return false
}

// known reports whether a section that the customer hasn't looked at has valid answers of
// last time, and nothing is asked for there.
func known(v *visit, name string) bool {
	_, begun := v.Sections[name]
	offer := v.Statement.Offers[name]
	return !begun && offer.Answers != nil && offer.Draft == nil && v.Asks[name] == ""
}

func tasks(v *visit) []view.Task {
	out := make([]view.Task, 0, statement.SectionsTotal)
	for _, name := range statement.SectionNames {
		out = append(out, task(v, name))
	}
	return out
}

func task(v *visit, name string) view.Task {
	t := view.Task{
		Number: statement.SectionNumber(name), Title: statement.Title(name), Hint: view.TaskHint(name), Gaps: v.Gaps(name),
		Asked: v.Asks[name], Known: known(v, name),
		URL: sectionURL(v.Session.ID, name), Status: view.NotStarted,
	}
	own, begun := v.Sections[name]
	switch {
	case v.Finished(name):
		t.Status = view.Completed
	case own.Completed:
		t.Status = view.ToFinish
	case begun, name == statement.DocumentsSection && len(v.Statement.Documents) > 0:
		t.Status = view.InProgress
	}
	return t
}

func sectionURL(id domain.SessionID, name string) string { return formURL(id) + "/" + name }

// checking is the query of a section that was opened from the check page and
// leads back to it.
const checking = "?return=" + statement.DeclarationSection

func returning(c echo.Context) bool {
	return c.QueryParam("return") == statement.DeclarationSection
}

// actionURL is the address to which a section's form is posted.
func actionURL(c echo.Context, v *visit, name string) string {
	if returning(c) {
		return sectionURL(v.Session.ID, name) + checking
	}
	return sectionURL(v.Session.ID, name)
}

// next leads on from a completed section: back to its card on the check page, or to the
// next one.
func (s *Server) next(c echo.Context, v *visit, done string) error {
	next, focus := v.Next(done), ""
	if returning(c) {
		next, focus = statement.DeclarationSection, view.CheckedID(done)
	}
	s.leaveSaved(c, v, focus)
	return c.Redirect(http.StatusSeeOther, sectionURL(v.Session.ID, next))
}

// ShowLanding introduces the server to a visitor without a link.
func (s *Server) ShowLanding(c echo.Context) error {
	return web.Render(c, http.StatusOK, view.Landing())
}

// AnswerError answers with a page that says what happened.
func (s *Server) AnswerError(c echo.Context, status int, public *domain.Error) error {
	page := view.StatusPage{Kind: view.StatusError, RequestID: web.RequestOf(c).ID.String()}
	switch {
	case public == forms.ErrElsewhere:
		page.Kind = view.StatusElsewhere
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed:
		page.Kind = view.StatusNotFound
	case status == http.StatusTooManyRequests:
		page.Kind = view.StatusTooMany
	case public == forms.ErrUploadsBusy:
		page.Kind = view.StatusBusy
	case c.Request().Method == http.MethodPost && web.Enhanced(c):
		page.Kind = view.StatusUnsaved
	case c.Request().Method == http.MethodPost:
		page.Kind = view.StatusUnsent
	}
	return web.Render(c, status, view.Status(page))
}

// noticeTexts are the notices of the form by their codes.
var noticeTexts = map[string]string{
	"saved":    view.SavedNotice,
	"uploaded": view.UploadedNotice,
	"removed":  view.RemovedNotice,
	followed:   view.FollowedNotice,
}

// followed is the code of the notice that everyone reads.
const followed = "followed"

func (s *Server) notices(id domain.SessionID) web.Notices {
	return web.Notices{Cookies: s.Cookies, Path: formURL(id)}
}

// leaveNotice leaves a notice for the form's next page, with the id of the
// element that takes the focus there, "" for the page's title.
func (s *Server) leaveNotice(c echo.Context, id domain.SessionID, code, focus string) {
	s.notices(id).Leave(c, code+"#"+focus)
}

// leaveSaved leaves the notice that answers are saved, or that a document was added
// before.
func (s *Server) leaveSaved(c echo.Context, v *visit, focus string) {
	code := "saved"
	switch {
	case v.again.document != "":
		code = v.again.code()
	case v.followed:
		code = followed
	}
	s.leaveNotice(c, v.Session.ID, code, focus)
}

// announce takes the notice that was left and what takes the focus, and deletes both.
func (s *Server) announce(c echo.Context, v *visit) {
	var code string
	code, v.focus, _ = strings.Cut(s.notices(v.Session.ID).Take(c), "#")
	ctx := c.Request().Context()
	v.announce, v.again, v.followed = i18n.T(ctx, noticeTexts[code]), readAgain(code), code == followed
	if v.again.document == "" || v.Statement == nil {
		return
	}
	for _, d := range v.Statement.Documents {
		if d.ID == v.again.document {
			v.announce = view.AlreadyAdded(ctx, d, v.again.other)
		}
	}
}
