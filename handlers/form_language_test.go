package handlers_test

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
)

const languagesPath = "/dashboard/test/settings"

// offering makes the bench's account offer those languages on its forms.
func (b *bench) offering(languages ...string) {
	b.Helper()
	owner := b.staff(domain.RoleOwner)
	owner.wantRedirect(owner.post(languagesPath+"/languages", url.Values{"languages": languages}), languagesPath)
}

// asks opens a page with a browser that asks for those languages.
func (c *customer) asks(section, languages string) string {
	c.Helper()
	r := httptest.NewRequest(http.MethodGet, c.path(section), nil)
	r.Header.Set("Accept-Language", languages)
	return c.page(c.send(r), http.StatusOK)
}

// choose takes the link to a language.
func (c *customer) choose(language string) *httptest.ResponseRecorder {
	c.Helper()
	return c.send(httptest.NewRequest(http.MethodGet, c.path("")+"?lang="+url.QueryEscape(language), nil))
}

func TestLanguagesThatAnAccountOffers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := b.newCustomer()
	page := c.asks("", "zh-CN,vi;q=0.5")
	shows(t, page, `<html lang="en-AU">`, "Your financial statement")
	hides(t, page, "?lang=", "简体中文")

	owner := b.staff(domain.RoleOwner)
	for _, wrong := range []string{"fr", "en-AU", hostile} {
		owner.wantPage(owner.post(languagesPath+"/languages", url.Values{"languages": {"vi", wrong}}), http.StatusUnprocessableEntity, "Choose languages of the list")
	}
	b.offering("vi", "zh-Hans")
	owner.wantPage(owner.get(languagesPath), http.StatusOK, `value="vi" checked`, `value="zh-Hans" checked`)
	owner.wantPage(owner.get("/dashboard/test/audit"), http.StatusOK, "account.changed", "form languages: en-AU → en-AU, zh-Hans, vi")

	for params, want := range map[string]string{
		"zh-CN,zh;q=0.9": "zh-Hans", "zh": "zh-Hans", "vi-VN": "vi", "fr,vi;q=0.3": "vi", "en-GB,vi;q=0.9": "en-AU",
		"zh-TW": "en-AU", "zh-Hant-HK": "en-AU", "fr": "en-AU", "": "en-AU", "<script>": "en-AU",
	} {
		shows(t, c.asks("", params), `<html lang="`+want+`">`, `hreflang=`)
	}
	b.offering("vi")
	page = c.asks("", "zh-CN,vi;q=0.5")
	shows(t, page, `<html lang="vi">`, `href="?lang=en-AU"`)
	hides(t, page, "简体中文")
	b.offering()
	hides(t, c.asks("", "vi"), "?lang=", `lang="vi"`)
}

func TestCustomerChoosesALanguage(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.offering("vi", "zh-Hans")
	c := b.newCustomer()
	got := c.choose("vi")
	if next := c.redirects(got); next != "" {
		t.Fatalf("choosing leads to %q, want the hub", next)
	}
	cookie := got.Result().Cookies()[0]
	if cookie.Path != c.path("") || !cookie.HttpOnly || !cookie.Secure || cookie.MaxAge <= 0 {
		t.Errorf("cookie %+v, want one of the form's path", cookie)
	}
	page := c.asks("", "zh-CN")
	shows(t, page, `<html lang="vi">`, "Bản kê khai tài chính của quý vị", `<li lang="zh-Hans"><a href="?lang=zh-Hans" hreflang="zh-Hans">简体中文</a>`, `<span aria-current="true">Tiếng Việt</span>`)
	for _, unknown := range []string{"fr", hostile} {
		page = c.page(c.choose(unknown), http.StatusOK)
		shows(t, page, `<html lang="vi">`)
		hides(t, page, hostile)
	}

	// Nothing on a page with inputs leaves it by changing the language.
	page = c.asks("assets", "")
	hides(t, page, "?lang=")
	page = c.page(c.post("assets", url.Values{"action": {"add:vehicles"}}), http.StatusOK)
	shows(t, page, "Đã thêm Xe 1")
	page = c.page(c.post("assets", url.Values{"vehicles.0.description": {"Mazda"}, "vehicles.0.value": {"lots"}}), http.StatusUnprocessableEntity)
	shows(t, page, "Có vấn đề cần sửa", "Xe 1: giá trị phải là số tiền bằng đô la Úc, ví dụ 1250 hoặc 1,250.50", `value="lots"`)
	owner := b.staff(domain.RoleOwner)
	owner.wantPage(owner.get("/dashboard/test"), http.StatusOK, "Vehicle: value must be an amount in dollars")

	page = c.page(c.attach("other", "a.gif", []byte("GIF89a"), "upload"), http.StatusUnprocessableEntity)
	shows(t, page, "Tập tin đã chọn phải là PDF, JPEG, PNG hoặc HEIC")
	c.send(httptest.NewRequest(http.MethodGet, c.path("")+"?lang=zh-Hans", nil))
	c.redirects(c.post("income", statementtest.Values(statement.IncomeSection)))
	shows(t, c.asks("", ""), "您的回答已保存")
}

func TestSignedInAnotherLanguageStoredInEnglish(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.offering("zh-Hans")
	c := b.newCustomer()
	c.choose("zh-Hans")
	for _, name := range statement.SectionNames[:5] {
		c.redirects(c.post(name, statementtest.Values(name)))
	}
	c.redirects(c.post(statement.DocumentsSection, url.Values{"action": {"continue"}}))
	page := c.asks(statement.DeclarationSection, "")
	shows(t, page, "我声明：", "您所签署的是以下英文文本：", `<p lang="en-AU">`+statement.DeclarationText+`</p>`, "联名共有 (joint owners)", "年")
	hides(t, page, "?lang=")
	english := newBench(t).newCustomer()
	for _, name := range statement.SectionNames[:5] {
		english.redirects(english.post(name, statementtest.Values(name)))
	}
	same(t, c, english)

	c.redirects(c.post(statement.DeclarationSection, statementtest.Values(statement.DeclarationSection)))
	page = c.asks("", "")
	shows(t, page, "您的报表已发送", `href="?lang=en-AU"`)
}

// same compares what two sessions have stored.
func same(t *testing.T, one, two *customer) {
	t.Helper()
	read := func(c *customer) string {
		state, err := c.service.Forms.Get(c.Context(), c.id)
		c.ok(err)
		var all []string
		for _, section := range state.Statement.Sections(startTime)[:5] {
			text, err := json.Marshal(section)
			c.ok(err)
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
	b := newBench(t)
	open := func(path, languages string) string {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("Accept-Language", languages)
		return b.serve(r).Body.String()
	}
	shows(t, open("/", ""), `<html lang="en-AU">`, `href="?lang=vi"`)
	shows(t, open("/", "vi"), `<html lang="vi">`, "Quý vị được yêu cầu nộp bản kê khai?")
	shows(t, open("/?lang=zh-Hans", "vi"), `<html lang="zh-Hans">`)
	page := open("/?lang="+url.QueryEscape(hostile), "vi")
	shows(t, page, `<html lang="vi">`)
	hides(t, page, hostile)
	shows(t, open("/f/nonsense/link", "zh"), `<html lang="zh-Hans">`, "找不到该页面")
	shows(t, open("/dashboard/sign-in", "zh"), `<html lang="en-AU">`)
}
