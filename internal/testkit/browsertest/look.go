package browsertest

import (
	"context"
	"fmt"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// As shows the page as it is on another device, or in another colour scheme, while see
// looks at it. The page stays: a way to it is walked once, however often it is looked at.
func (tab *Tab) As(device Device, dark bool, see func()) {
	tab.t.Helper()
	own := tab.options
	tab.show(device, dark)
	see()
	tab.show(own.Device, own.Dark)
}

func (tab *Tab) show(device Device, dark bool) {
	tab.t.Helper()
	if tab.options.Device == device && tab.options.Dark == dark {
		return
	}
	tab.options.Device, tab.options.Dark = device, dark
	width, height := device.size()
	tab.do("change the device", chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		size := emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1}
		if _, err := chromedp.Call(ctx, emulation.SetDeviceMetricsOverride, size); err != nil {
			return fmt.Errorf("set the size: %w", err)
		}
		return tab.emulateMedia(ctx, target)
	}))
}
