package form_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/statement"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/page"
)

const languagesPath = "/dashboard/test/settings"

// offering makes the bench's account offer those languages on its forms.
func offering(h *harness.Harness, languages ...string) {
	h.Helper()
	owner := h.Staff(domain.RoleOwner)
	owner.WantRedirect(owner.Post(languagesPath+"/forms", url.Values{"languages": append(languages, "")}), languagesPath)
}

// asks opens a page with a browser that asks for those languages.
func asks(c *harness.Customer, section, languages string) *page.Page {
	c.Helper()
	r := httptest.NewRequest(http.MethodGet, c.Path(section), nil)
	r.Header.Set("Accept-Language", languages)
	return c.WantPage(c.Send(r), http.StatusOK)
}

// wantLang fails the test unless the page is in that language.
func wantLang(p *page.Page, want string) {
	p.Helper()
	if got := p.Lang(); got != want {
		p.Errorf("the page is in %q, want %q", got, want)
	}
}

// inLanguage finds the part that is marked as a text in that language.
func inLanguage(language, text string) func(*page.Page) bool {
	return func(p *page.Page) bool { return p.Text() == text && p.Attr("lang") == language }
}

// choose takes the link to a language.
func choose(c *harness.Customer, language string) *httptest.ResponseRecorder {
	c.Helper()
	return c.Send(httptest.NewRequest(http.MethodGet, c.Path("")+"?lang="+url.QueryEscape(language), nil))
}

func TestLanguagesThatAnAccountOffers(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	c := h.NewCustomer()
	page := asks(c, "", "zh-CN,vi;q=0.5")
	wantLang(page, "en-AU")
	page.Shows("Your financial statement")
	page.Hides("?lang=", "简体中文")

	owner := h.Staff(domain.RoleOwner)
	for _, wrong := range []string{"fr", "en-AU", harness.Hostile} {
		owner.WantPage(owner.Post(languagesPath+"/forms", url.Values{"languages": {"vi", wrong}}), http.StatusUnprocessableEntity,
			"Choose languages from the list")
	}
	offering(h, "vi", "zh-Hans")
	if got := owner.WantPage(owner.Get(languagesPath), http.StatusOK).Field("languages").Values; !slices.Contains(got, "vi") ||
		!slices.Contains(got, "zh-Hans") {
		t.Errorf("the settings have ticked %q", got)
	}
	owner.WantPage(owner.Get("/dashboard/test/audit"), http.StatusOK, "Settings changed",
		"form languages: en-AU → en-AU, zh-Hans, vi")

	for params, want := range map[string]string{
		"zh-CN,zh;q=0.9": "zh-Hans", "zh": "zh-Hans", "vi-VN": "vi", "fr,vi;q=0.3": "vi", "en-GB,vi;q=0.9": "en-AU",
		"zh-TW": "en-AU", "zh-Hant-HK": "en-AU", "fr": "en-AU", "": "en-AU", "<script>": "en-AU",
	} {
		page := asks(c, "", params)
		wantLang(page, want)
		if len(page.Leads("?lang=")) != 2 {
			t.Errorf("for %q the page leads to %q, want the two other languages", params, page.Leads("?lang="))
		}
	}
	offering(h, "vi")
	page = asks(c, "", "zh-CN,vi;q=0.5")
	wantLang(page, "vi")
	page.LeadsTo("?lang=en-AU")
	page.Hides("简体中文")
	offering(h)
	wantLang(asks(c, "", "vi").Hides("?lang=", "Tiếng Việt"), "en-AU")
}

func TestCustomerChoosesALanguage(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	offering(h, "vi", "zh-Hans")
	c := h.NewCustomer()
	got := choose(c, "vi")
	if next := c.WantRedirect(got); next != "" {
		t.Fatalf("choosing leads to %q, want the hub", next)
	}
	cookie := got.Result().Cookies()[0]
	if cookie.Path != c.Path("") || !cookie.HttpOnly || !cookie.Secure || cookie.MaxAge <= 0 {
		t.Errorf("cookie %+v, want one of the form's path", cookie)
	}
	page := asks(c, "", "zh-CN")
	wantLang(page, "vi")
	page.Shows("Bản kê khai tài chính của quý vị")
	if got := page.Link("简体中文"); got != "?lang=zh-Hans" {
		t.Errorf("Chinese is at %q", got)
	}
	if got := page.Current(); !slices.Equal(got, []string{"Tiếng Việt"}) {
		t.Errorf("%q is marked as the page's language", got)
	}
	if !slices.ContainsFunc(page.All("li"), inLanguage("zh-Hans", "简体中文")) {
		t.Error("the name of Chinese isn't marked as Chinese")
	}
	for _, unknown := range []string{"fr", harness.Hostile} {
		page = c.WantPage(choose(c, unknown), http.StatusOK)
		wantLang(page, "vi")
		page.Hides(harness.Hostile)
	}

	// Nothing on a page with inputs leaves it by changing the language.
	asks(c, "assets", "").Hides("?lang=")
	page = c.WantPage(c.Post("assets", url.Values{"action": {"add:vehicles"}}), http.StatusOK)
	page.Shows("Đã thêm Xe 1")
	page = c.WantPage(c.Post("assets", url.Values{"vehicles.0.description": {"Mazda"}, "vehicles.0.value": {"lots"}}),
		http.StatusUnprocessableEntity)
	page.Shows("Có vấn đề cần sửa", "Mazda: giá trị phải là số tiền bằng đô la Úc, ví dụ 1250 hoặc 1,250.50")
	page.WantField("vehicles.0.value", "lots")
	owner := h.Staff(domain.RoleOwner)
	owner.WantPage(owner.Get("/dashboard/test"), http.StatusOK, "Vehicle: value must be an amount in dollars")

	page = c.WantPage(c.Attach("other", "a.gif", []byte("GIF89a"), "upload"), http.StatusUnprocessableEntity)
	page.Shows("Tệp đã chọn phải là PDF, JPEG, PNG hoặc HEIC")
	c.Send(httptest.NewRequest(http.MethodGet, c.Path("")+"?lang=zh-Hans", nil))
	c.WantRedirect(c.Post("income", statementtest.Values(statement.IncomeSection)))
	asks(c, "", "").Shows("您的回答已保存")
}

// TestLanguageSwitchSaves changes the language of pages on which something is typed.
func TestLanguageSwitchSaves(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	offering(h, "vi", "zh-Hans")
	c := h.NewCustomer()
	if next := c.WantRedirect(c.Post("assets?return=declaration", url.Values{"action": {"language:vi"},
		"vehicles.0.description": {"Mazda"}})); next != "assets?return=declaration" {
		t.Errorf("the switch leads to %q, want the same page", next)
	}
	page := asks(c, "assets", "zh-CN")
	wantLang(page, "vi")
	page.WantField("vehicles.0.description", "Mazda").Shows("Câu trả lời của quý vị đã được lưu")
	if slices.Contains(c.Events(), "session.section_completed assets") {
		t.Error("the switch completed the section")
	}

	c.WantRedirect(c.Attach("other", "a.pdf", []byte("%PDF-1.7\n"), "language:zh-Hans"))
	page = asks(c, "documents", "")
	wantLang(page, "zh-Hans")
	page.Shows("a.pdf")

	page = asks(c, "declaration", "")
	page.LeadsTo("?lang=vi")
	got := c.Send(httptest.NewRequest(http.MethodGet, c.Path("assets")+"?return=declaration&lang=en-AU", nil))
	if next := c.WantRedirect(got); next != "assets?return=declaration" {
		t.Errorf("the link leads to %q, want the same page", next)
	}
	for _, unknown := range []string{"language", "language:", "language:fr", "language:" + harness.Hostile} {
		if got := c.Post("assets", url.Values{"action": {unknown}}); got.Code != http.StatusBadRequest {
			t.Errorf("%s: status %d, want 400", unknown, got.Code)
		}
		if got := c.Attach("other", "b.pdf", []byte("%PDF-1.7\n"), unknown); got.Code != http.StatusBadRequest {
			t.Errorf("%s beside a file: status %d, want 400", unknown, got.Code)
		}
	}
	wantLang(asks(c, "assets", ""), "en-AU")
}

func TestBrowserLanguageSwitch(t *testing.T) {
	t.Parallel()
	h, base := harness.Listen(t)
	_, err := h.DB.Raw().ExecContext(t.Context(), `UPDATE account SET form_languages = '{vi,zh-Hans}'`)
	h.OK(err)
	c := h.NewCustomer()
	tab := browsertest.New(t, browsertest.Options{})
	arrive(tab, base, c, "personal_details")
	tab.Type(input("phone"), "0400 000 001")
	tab.Click(`button[value="language:vi"]`)
	tab.WaitFor(`html[lang="vi"]`)
	tab.WaitFor(`button[value="language:en-AU"]`)
	if got := tab.Value(input("phone")); got != "0400 000 001" {
		t.Errorf("the phone is %q, want what was typed", got)
	}
	tab.FitsWidth()
	tab.View("form/19-language")
	tab.Axe()
	tab.Type(input("occupation"), "Nurse")
	tab.Press("\r") // must not press the first language
	tab.WaitFor(".error-summary")
	tab.WaitFor(`html[lang="vi"]`)
}

// TestLanguageGivenAtCreation checks D57: the partner's language wins over the
// browser's, and the customer's own choice over both.
func TestLanguageGivenAtCreation(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	offering(h, "vi", "zh-Hans")
	given := func(language string) *harness.Customer {
		return customerOf(h, h.Post("/sessions", body(`, "language": "`+language+`"`)).WantStatus(http.StatusCreated).Object())
	}
	english, chinese := given("en-AU"), given("zh-Hans")
	for _, browser := range []string{"", "vi", "zh-CN", "en-GB"} {
		wantLang(asks(english, "", browser), "en-AU")
		wantLang(asks(chinese, "", browser), "zh-Hans")
	}
	wantLang(asks(chinese, "income", "vi"), "zh-Hans")
	choose(chinese, "vi")
	wantLang(asks(chinese, "", "zh-CN"), "vi")

	another := given("zh-Hans")
	offering(h, "vi")
	wantLang(asks(another, "", "vi,zh;q=0.5"), "vi")
	a := h.Post("/sessions", body(`, "language": "zh-Hans"`))
	a.WantError(http.StatusUnprocessableEntity, "validation_error", "language")
	if !strings.Contains(a.Body.String(), "en-AU or vi") {
		t.Errorf("the message doesn't say which languages there are: %s", a.Body)
	}
}

func TestSignedInAnotherLanguageStoredInEnglish(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	offering(h, "zh-Hans")
	c := h.NewCustomer()
	choose(c, "zh-Hans")
	for _, name := range statement.SectionNames[:5] {
		c.WantRedirect(c.Post(name, statementtest.Values(name)))
	}
	c.WantRedirect(c.Post(statement.DocumentsSection, url.Values{"action": {"continue"}}))
	page := asks(c, statement.DeclarationSection, "")
	page.Shows("我声明：", "您所签署的是以下英文文本：", "联名共有 (joint owners)", "年")
	if !slices.ContainsFunc(page.All("p"), inLanguage("en-AU", statement.DeclarationText)) {
		t.Error("the declaration isn't there in English, or isn't marked as English")
	}
	page.LeadsTo("?lang=en-AU")
	english := harness.New(t).NewCustomer()
	for _, name := range statement.SectionNames[:5] {
		english.WantRedirect(english.Post(name, statementtest.Values(name)))
	}
	same(t, c, english)

	c.WantRedirect(c.Post(statement.DeclarationSection, statementtest.Values(statement.DeclarationSection)))
	page = asks(c, "", "")
	page.Shows("您的财务状况表已发送").LeadsTo("?lang=en-AU")
}

// same compares what two sessions have stored.
func same(t *testing.T, one, two *harness.Customer) {
	t.Helper()
	read := func(c *harness.Customer) string {
		state, err := c.Service.Forms.Get(c.Context(), c.ID)
		c.OK(err)
		var all []string
		for _, section := range state.Statement.Sections(harness.StartTime)[:5] {
			text, err := json.Marshal(section)
			c.OK(err)
			all = append(all, string(text))
		}
		return strings.Join(all, "\n")
	}
	if got, want := read(one), read(two); got != want {
		t.Errorf("stored %s\nwant %s", got, want)
	}
}

func TestLanguageWithoutAForm(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	open := func(path, languages string) *page.Page {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("Accept-Language", languages)
		return page.Read(t, h.Serve(r).Body.String())
	}
	wantLang(open("/", "").LeadsTo("?lang=vi"), "en-AU")
	wantLang(open("/", "vi").Shows("Quý vị được yêu cầu nộp bản kê khai?"), "vi")
	wantLang(open("/?lang=zh-Hans", "vi"), "zh-Hans")
	page := open("/?lang="+url.QueryEscape(harness.Hostile), "vi")
	wantLang(page, "vi")
	page.Hides(harness.Hostile)
	wantLang(open("/f/nonsense/link", "zh").Shows("找不到该页面"), "zh-Hans")
	wantLang(open("/dashboard/sign-in", "zh"), "en-AU")
}

// TestCopyInTheCustomersLanguage downloads the copy in the page's language, and the English
// document beside it (D59). It is the copy, too, if one would lack a character (D80).
func TestCopyInTheCustomersLanguage(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	offering(h, "vi")
	c := h.NewCustomer()
	c.AnswerAll()
	c.WantRedirect(c.Sign())
	const original = "%PDF-1.7 original"
	c.StorePDF(c.ID, []byte(original))
	c.WantPage(c.Get(""), http.StatusOK).LeadsTo(c.Path("pdf")).Hides("original=yes")
	c.WantRedirect(choose(c, "vi"))
	c.WantPage(c.Get(""), http.StatusOK).LeadsTo(c.Path("pdf"), c.Path("pdf")+"?original=yes")
	got := c.Get("pdf")
	if want := `attachment; filename="financial_statement_` + c.ID.String() + `_vi.pdf"`; got.Code != http.StatusOK ||
		got.Header().Get("Content-Disposition") != want {
		t.Fatalf("the copy is %d %q", got.Code, got.Header())
	}
	file := filepath.Join(t.TempDir(), "copy.pdf")
	c.OK(os.WriteFile(file, got.Body.Bytes(), 0o600))
	text, err := exec.CommandContext(t.Context(), "pdftotext", "-raw", file, "-").Output()
	c.OK(err)
	for _, want := range []string{"Zoë Margaret O'Brien", "Tổng tài sản\nTotal assets", "$1,026,405.29",
		statement.DeclarationText[:60]} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the copy lacks %q", want)
		}
	}
	if got := c.Get("pdf?original=yes"); got.Body.String() != original {
		t.Errorf("the English document is %d %q", got.Code, got.Body)
	}
	fox := statementtest.Full()
	fox.Personal.Occupation = "Fox 🦊"
	session, err := c.Service.DB.SessionByID(c.Context(), c.ID)
	c.OK(err)
	answers, err := fox.Section(statement.PersonalDetailsSection, c.Clock.Now()).MarshalJSON()
	c.OK(err)
	c.OK(c.Service.DB.InTx(c.Context(), func(tx *db.Tx) error {
		_, err := c.Service.Vault.SaveSection(c.Context(), tx, session, nil, statement.PersonalDetailsSection, answers, c.Clock.Now())
		return err
	}))
	if got := c.Get("pdf"); got.Body.String() != original || strings.Contains(got.Header().Get("Content-Disposition"), "_vi.pdf") {
		t.Errorf("instead of a copy without a character there is %d %q", got.Code, got.Header())
	}
}
