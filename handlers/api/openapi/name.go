package openapi

import "strings"

// initialisms are written in capitals in Go's names.
var initialisms = map[string]bool{"id": true, "url": true, "pdf": true, "sha256": true, "ip": true, "api": true}

// GoName is a name of the document as an exported one of the SDK for Go: session_url is
// SessionURL.
func GoName(name string) string {
	var out strings.Builder
	for _, word := range strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '.' || r == '-' }) {
		if initialisms[word] {
			out.WriteString(strings.ToUpper(word))
		} else {
			out.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return out.String()
}
