package handlers

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"candor/internal/domain"
)

// A file is a response of bytes with a name.
type file struct {
	contentType string
	name        string
	inline      bool
	size        int64
	content     io.ReadCloser
}

// respond sends the file and closes it.
func (f *file) respond(c echo.Context) error {
	defer func() { _ = f.content.Close() }() // read only: nothing is lost
	h := c.Response().Header()
	h.Set(echo.HeaderContentDisposition, disposition(f.inline, f.name))
	h.Set(echo.HeaderContentLength, strconv.FormatInt(f.size, 10))
	return c.Stream(http.StatusOK, f.contentType, f.content)
}

// disposition is a Content-Disposition header (RFC 6266): a plain name, and
// the true one beside it where it isn't plain.
func disposition(inline bool, name string) string {
	kind := "attachment"
	if inline {
		kind = "inline"
	}
	plain := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' || r == '%' {
			return '_'
		}
		return r
	}, name)
	value := kind + `; filename="` + plain + `"`
	if plain != name {
		value += "; filename*=UTF-8''" + strings.ReplaceAll(url.QueryEscape(name), "+", "%20")
	}
	return value
}

// pdfRequest is what GET /v1/sessions/:id/pdf takes.
type pdfRequest struct {
	sessionID
	Download bool `query:"download" enum:"true,false" default:"false" doc:"true answers as an attachment, false inline."`
}

func (s *Server) sessionPDF(ctx context.Context, r *pdfRequest) (*file, error) {
	id, err := r.parse()
	if err != nil {
		return nil, err
	}
	content, err := s.Service.PDF(ctx, scopeIn(ctx), id, readerIn(ctx, actorIn(ctx)))
	if err != nil {
		return nil, err
	}
	return &file{
		contentType: "application/pdf", name: "financial_statement_" + id.String() + ".pdf", inline: !r.Download,
		size: int64(len(content)), content: io.NopCloser(bytes.NewReader(content)),
	}, nil
}

// documentRequest is what GET /v1/sessions/:id/documents/:document_id takes.
type documentRequest struct {
	sessionID
	DocumentID string `path:"document_id" doc:"The document's id, doc_…, from the session's data."`
}

// sessionDocument answers with a customer's upload, which is anyone's guess:
// always as an attachment, of the type that was found from its content.
func (s *Server) sessionDocument(ctx context.Context, r *documentRequest) (*file, error) {
	session, err := r.parse()
	if err != nil {
		return nil, err
	}
	id, _ := domain.ParseDocumentID(r.DocumentID) // the id of no document where it is malformed
	document, err := s.Service.Document(ctx, scopeIn(ctx), session, id, readerIn(ctx, actorIn(ctx)))
	if err != nil {
		return nil, err
	}
	return &file{contentType: document.ContentType, name: document.FileName, size: document.SizeBytes, content: document}, nil
}
