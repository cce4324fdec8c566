package ui

import "strconv"

// FileSize is a number of bytes as people read it: "1.2 MB", "340 KB".
func FileSize(bytes int64) string {
	const kb, mb = 1 << 10, 1 << 20
	switch {
	case bytes >= 10*mb:
		return strconv.FormatInt((bytes+mb/2)/mb, 10) + " MB"
	case bytes >= mb-kb/2: // never 1024 KB
		tenths := (bytes*10 + mb/2) / mb
		return strconv.FormatInt(tenths/10, 10) + "." + strconv.FormatInt(tenths%10, 10) + " MB"
	default:
		return strconv.FormatInt(max(1, (bytes+kb/2)/kb), 10) + " KB"
	}
}
