package browsertest

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
	if tab.options.Device != device {
		tab.Resize(device)
	}
	if tab.options.Dark != dark {
		tab.Dark(dark)
	}
}
