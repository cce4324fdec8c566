package dashboard_test

import (
	"testing"

	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
)

// TestBrowserEditsAskBeforeTheyAreLeft: each form that stores something asks before what was
// typed into it is lost. What is searched for, what a person proves who they are by, what one
// act takes and what is to end aren't asked about.
func TestBrowserEditsAskBeforeTheyAreLeft(t *testing.T) {
	t.Parallel()
	h, base := harness.Listen(t)
	all, err := h.Service.Keys.List(t.Context(), h.TestScope())
	h.OK(err)
	key := "/dashboard/test/keys/" + all[0].ID.String()
	tab := browsertest.New(t, browsertest.Options{Device: browsertest.Desktop})
	asks := func() bool {
		return browsertest.Eval[bool](tab, `!dispatchEvent(new Event("beforeunload", { cancelable: true }))`)
	}
	signInTo(h, tab, base, key)
	for _, tt := range []struct {
		path, field string
		asks        bool
	}{
		{"/dashboard/test/me", "#name", true},
		{"/dashboard/test/me", "#password", false},
		{"/dashboard/test/settings", "#retention_days", true},
		{"/dashboard/test/settings/sign-in", "#issuer", true},
		{"/dashboard/test/settings/sign-in", "#group_roles", true},
		{"/dashboard/test/webhooks/endpoints/new", "#url", true},
		{"/dashboard/test/keys/new", "#networks", true},
		{"/dashboard/test/sessions/new", "#customer_email", true},
		{"/dashboard/test/sessions", "#q", false},
		{"/dashboard/live/billing", "#billing_email", true},
		{"/dashboard/live/billing", "#alert_1", true},
		{"/dashboard/live/billing/cancel", "#reason", false},
		{key, "#typed_name", false},
		{key, "#overlap", false},
		{key, "#name", true},
	} {
		tab.Open(base + tt.path)
		tab.WaitForTrue(`document.readyState === "complete"`) // the script has run
		if asks() {
			t.Errorf("%s asks before anything is typed", tt.path)
		}
		if tt.field == "#overlap" {
			tab.Select(tt.field, "1h")
		} else {
			tab.Type(tt.field, "7")
		}
		if asks() != tt.asks {
			t.Errorf("%s asks after %s was changed: %t, want %t", tt.path, tt.field, !tt.asks, tt.asks)
		}
	}
	for _, path := range []string{key, "/dashboard/test/me"} {
		tab.Open(base + path)
		tab.WaitForTrue(`document.readyState === "complete"`)
		tab.Type("#name", "Not saved")
		tab.Click(".dash-nav [data-key=s]")
		tab.WaitForDialog()
		tab.WaitForText("h1", "Sessions")
	}
	tab.Open(base + "/dashboard/test/me")
	tab.WaitForTrue(`document.readyState === "complete"`)
	tab.Type("#name", "Sam Saved")
	browsertest.Eval[bool](tab, `document.querySelector("#name").form.dispatchEvent(new Event("submit", { bubbles: true }))`)
	if asks() {
		t.Error("a form that is sent asks")
	}
}

// TestBrowserColour: the picker and the field of the colour say the same, and the form's first
// page is drawn again with it, with what is said of the colour.
func TestBrowserColour(t *testing.T) {
	t.Parallel()
	h, base := harness.Listen(t)
	tab := browsertest.New(t, browsertest.Options{Device: browsertest.Desktop})
	signInTo(h, tab, base, "/dashboard/test/settings")
	tab.WaitForTrue(`!document.querySelector(".colour-picker").hidden`) // the script has run
	drawn := func(colour string) {
		t.Helper()
		tab.WaitForText("#colour-words", "#"+colour+" has ")
		tab.WaitForTrue(`document.querySelector("iframe").contentDocument.querySelector("link[href='/brand/` + colour + `.css']") !== null`)
	}
	tab.Type("#brand_colour", "#7FD4FF")
	tab.WaitForValue(".colour-picker", "#7fd4ff")
	tab.Press("\t")
	drawn("7fd4ff")
	browsertest.Eval[bool](tab, `((picker) => {
		picker.value = "#b0241c";
		return ["input", "change"].every((name) => picker.dispatchEvent(new Event(name, { bubbles: true })));
	})(document.querySelector(".colour-picker"))`)
	tab.WaitForValue("#brand_colour", "#b0241c")
	drawn("b0241c")
	tab.Click("[action$=brand] .button-primary")
	tab.WaitForText("#announcement", "Settings saved")
}
