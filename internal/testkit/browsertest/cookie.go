package browsertest

import (
	"context"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// SetCookies gives the tab these cookies of the site at the URL, by their names.
func (tab *Tab) SetCookies(url string, cookies map[string]string) {
	tab.t.Helper()
	var params network.SetCookiesParams
	for name, value := range cookies {
		params.Cookies = append(params.Cookies, &network.CookieParam{Name: name, Value: value, URL: url, Path: "/", HTTPOnly: true})
	}
	tab.do("set cookies", chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Call(ctx, network.SetCookies, params)
		return err
	}))
}
