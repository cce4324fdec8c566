package docs

import (
	"bytes"
	_ "embed"
)

// listenSource is a partner's program: it forwards test events to a receiver on
// their own computer (D61). {base_url} in it is this service.
//
//go:embed listen.mjs
var listenSource []byte

func (s *Server) listenScript() ([]byte, error) {
	return bytes.ReplaceAll(listenSource, []byte("{base_url}"), []byte(s.BaseURL)), nil
}
