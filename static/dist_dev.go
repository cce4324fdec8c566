//go:build dev

package static

import "os"

var dist = os.DirFS("static")
