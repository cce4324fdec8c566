package form_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/statement"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit/harness"
)

const languagesPath = "/dashboard/test/settings"

// offering makes the bench's account offer those languages on its forms.
func offering(h *harness.Harness, languages ...string) {
	h.Helper()
	owner := h.Staff(domain.RoleOwner)
	owner.WantRedirect(owner.Post(languagesPath+"/languages", url.Values{"languages": languages}), languagesPath)
}

// asks opens a page with a browser that asks for those languages.
func asks(c *harness.Customer, section, languages string) string {
	c.Helper()
	r := httptest.NewRequest(http.MethodGet, c.Path(section), nil)
	r.Header.Set("Accept-Language", languages)
	return c.WantPage(c.Send(r), http.StatusOK)
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
	harness.Shows(t, page, `<html lang="en-AU">`, "Your financial statement")
	harness.Hides(t, page, "?lang=", "简体中文")

	owner := h.Staff(domain.RoleOwner)
	for _, wrong := range []string{"fr", "en-AU", harness.Hostile} {
		owner.WantPage(owner.Post(languagesPath+"/languages", url.Values{"languages": {"vi", wrong}}), http.StatusUnprocessableEntity, "Choose languages of the list")
	}
	offering(h, "vi", "zh-Hans")
	owner.WantPage(owner.Get(languagesPath), http.StatusOK, `value="vi" checked`, `value="zh-Hans" checked`)
	owner.WantPage(owner.Get("/dashboard/test/audit"), http.StatusOK, "account.changed", "form languages: en-AU → en-AU, zh-Hans, vi")

	for params, want := range map[string]string{
		"zh-CN,zh;q=0.9": "zh-Hans", "zh": "zh-Hans", "vi-VN": "vi", "fr,vi;q=0.3": "vi", "en-GB,vi;q=0.9": "en-AU",
		"zh-TW": "en-AU", "zh-Hant-HK": "en-AU", "fr": "en-AU", "": "en-AU", "<script>": "en-AU",
	} {
		harness.Shows(t, asks(c, "", params), `<html lang="`+want+`">`, `hreflang=`)
	}
	offering(h, "vi")
	page = asks(c, "", "zh-CN,vi;q=0.5")
	harness.Shows(t, page, `<html lang="vi">`, `href="?lang=en-AU"`)
	harness.Hides(t, page, "简体中文")
	offering(h)
	harness.Hides(t, asks(c, "", "vi"), "?lang=", `lang="vi"`)
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
	harness.Shows(t, page, `<html lang="vi">`, "Bản kê khai tài chính của quý vị", `<li lang="zh-Hans"><a href="?lang=zh-Hans" hreflang="zh-Hans">简体中文</a>`, `<span aria-current="true">Tiếng Việt</span>`)
	for _, unknown := range []string{"fr", harness.Hostile} {
		page = c.WantPage(choose(c, unknown), http.StatusOK)
		harness.Shows(t, page, `<html lang="vi">`)
		harness.Hides(t, page, harness.Hostile)
	}

	// Nothing on a page with inputs leaves it by changing the language.
	page = asks(c, "assets", "")
	harness.Hides(t, page, "?lang=")
	page = c.WantPage(c.Post("assets", url.Values{"action": {"add:vehicles"}}), http.StatusOK)
	harness.Shows(t, page, "Đã thêm Xe 1")
	page = c.WantPage(c.Post("assets", url.Values{"vehicles.0.description": {"Mazda"}, "vehicles.0.value": {"lots"}}), http.StatusUnprocessableEntity)
	harness.Shows(t, page, "Có vấn đề cần sửa", "Xe 1: giá trị phải là số tiền bằng đô la Úc, ví dụ 1250 hoặc 1,250.50", `value="lots"`)
	owner := h.Staff(domain.RoleOwner)
	owner.WantPage(owner.Get("/dashboard/test"), http.StatusOK, "Vehicle: value must be an amount in dollars")

	page = c.WantPage(c.Attach("other", "a.gif", []byte("GIF89a"), "upload"), http.StatusUnprocessableEntity)
	harness.Shows(t, page, "Tập tin đã chọn phải là PDF, JPEG, PNG hoặc HEIC")
	c.Send(httptest.NewRequest(http.MethodGet, c.Path("")+"?lang=zh-Hans", nil))
	c.WantRedirect(c.Post("income", statementtest.Values(statement.IncomeSection)))
	harness.Shows(t, asks(c, "", ""), "您的回答已保存")
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
	harness.Shows(t, page, "我声明：", "您所签署的是以下英文文本：", `<p lang="en-AU">`+statement.DeclarationText+`</p>`, "联名共有 (joint owners)", "年")
	harness.Hides(t, page, "?lang=")
	english := harness.New(t).NewCustomer()
	for _, name := range statement.SectionNames[:5] {
		english.WantRedirect(english.Post(name, statementtest.Values(name)))
	}
	same(t, c, english)

	c.WantRedirect(c.Post(statement.DeclarationSection, statementtest.Values(statement.DeclarationSection)))
	page = asks(c, "", "")
	harness.Shows(t, page, "您的报表已发送", `href="?lang=en-AU"`)
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
	open := func(path, languages string) string {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("Accept-Language", languages)
		return h.Serve(r).Body.String()
	}
	harness.Shows(t, open("/", ""), `<html lang="en-AU">`, `href="?lang=vi"`)
	harness.Shows(t, open("/", "vi"), `<html lang="vi">`, "Quý vị được yêu cầu nộp bản kê khai?")
	harness.Shows(t, open("/?lang=zh-Hans", "vi"), `<html lang="zh-Hans">`)
	page := open("/?lang="+url.QueryEscape(harness.Hostile), "vi")
	harness.Shows(t, page, `<html lang="vi">`)
	harness.Hides(t, page, harness.Hostile)
	harness.Shows(t, open("/f/nonsense/link", "zh"), `<html lang="zh-Hans">`, "找不到该页面")
	harness.Shows(t, open("/dashboard/sign-in", "zh"), `<html lang="en-AU">`)
}
