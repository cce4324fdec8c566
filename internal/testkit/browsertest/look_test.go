package browsertest

import (
	"strings"
	"testing"
)

// TestBrowserTabChangesItsLook: what fits at a desk and not on a phone is found by looking
// at it as it is there, and by the rules that are asked for alone.
func TestBrowserTabChangesItsLook(t *testing.T) {
	t.Parallel()
	reported := &complaints{TB: t}
	tab := New(reported, Options{})
	tab.Open(serve(t, `<!doctype html><html lang="en"><head><title>Wide</title><link rel="icon" href="/icon"><meta name="viewport" content="width=device-width"></head>
<body><main><h1>Wide</h1><input><table width="600"><tr><td>wide</table></main></body></html>`))
	const look = "[innerWidth, matchMedia('(prefers-color-scheme: dark)').matches].join()"
	tab.As(Desktop, true, func() {
		if got := Eval[string](tab, look); got != "1280,true" {
			t.Errorf("at a desk in the dark the page has %s", got)
		}
		tab.FitsWidth()
		tab.Axe(LookRules...)
	})
	if len(reported.errors) > 0 {
		t.Errorf("at a desk: %q", reported.errors)
	}
	if got := Eval[string](tab, look); !strings.HasSuffix(got, ",false") {
		t.Errorf("afterwards the page has %s", got)
	}
	tab.FitsWidth()
	tab.Axe()
	if all := strings.Join(reported.errors, "\n"); !strings.Contains(all, "wider than the window") ||
		!strings.Contains(all, "must have labels") {
		t.Errorf("on a phone: %q", all)
	}
}
