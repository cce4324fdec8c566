//go:build !dev

package static

import "embed"

//go:embed all:dist
var dist embed.FS
