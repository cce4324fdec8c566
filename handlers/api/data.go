package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/sessions"
	"candor/internal/statement"
)

// pdfRequest is what GET /v1/sessions/:id/pdf takes.
type pdfRequest struct {
	sessionID
	Download bool `query:"download" enum:"true,false" default:"false" doc:"true answers as an attachment, false inline."`
}

// GetPDF is GET /v1/sessions/:id/pdf.
func (s *Server) GetPDF() Endpoint {
	return endpoint(operation{
		id: "getSessionPDF", tag: "Form data", summary: "Download the PDF",
		description: "The statement of a completed session as a PDF, kept for 90 days after completion, or the fewer that the account has set. It is made within seconds of completion; until then the answer is 202. A part can be asked for by `Range`, to go on after a download broke off.",
		errors: []domain.Code{domain.CodeSessionNotFound, domain.CodeSessionNotCompleted, domain.CodePDFNotReady,
			domain.CodePDFExpired, domain.CodeDataErased, domain.CodeRangeNotSatisfiable},
		files:  []string{"application/pdf"},
		status: 200,
	}, s.sessionPDF)
}

func (s *Server) sessionPDF(ctx context.Context, r *pdfRequest) (*web.File, error) {
	id, err := r.parse()
	if err != nil {
		return nil, err
	}
	content, err := s.Sessions.PDF(ctx, scopeIn(ctx), id, web.Reader(ctx, actorIn(ctx)))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(content)
	return &web.File{
		ContentType: "application/pdf", Name: "financial_statement_" + id.String() + ".pdf", Inline: !r.Download,
		Size: int64(len(content)), SHA256: sum[:], Content: io.NopCloser(bytes.NewReader(content)),
	}, nil
}

// documentRequest is what GET /v1/sessions/:id/documents/:document_id takes.
type documentRequest struct {
	sessionID
	DocumentID string `path:"document_id" sample:"doc_01m7xsggqsf43scdh9320874jm" pattern:"^doc_[0-7][0-9a-hjkmnp-tv-z]{25}$" doc:"The document’s id, doc_…, from the session’s data."`
}

// GetDocument is GET /v1/sessions/:id/documents/:document_id.
func (s *Server) GetDocument() Endpoint {
	return endpoint(operation{
		id: "getSessionDocument", tag: "Form data", summary: "Download a document",
		description: "A file that the customer uploaded, as an attachment. Its id is in the session’s data; it is kept for 90 days after completion, or the fewer that the account has set. A part can be asked for by `Range`.",
		errors: []domain.Code{domain.CodeSessionNotFound, domain.CodeSessionNotCompleted, domain.CodeDocumentNotFound,
			domain.CodeDataErased, domain.CodeRangeNotSatisfiable},
		files:  []string{"application/pdf", "image/jpeg", "image/png", "image/heic"},
		status: 200,
	}, s.sessionDocument)
}

// sessionDocument answers with a customer's upload. It may be anything, so it
// is always an attachment, of the type that its content has.
func (s *Server) sessionDocument(ctx context.Context, r *documentRequest) (*web.File, error) {
	session, err := r.parse()
	if err != nil {
		return nil, err
	}
	id, badID := domain.ParseDocumentID(r.DocumentID) // if it is malformed, the id of no document
	document, err := s.Sessions.Document(ctx, scopeIn(ctx), session, id, web.Reader(ctx, actorIn(ctx)))
	if badID != nil && errors.Is(err, &domain.Error{Code: domain.CodeDocumentNotFound}) {
		err = domain.Errorf(domain.CodeDocumentNotFound, "%s", notAnID("doc", r.DocumentID))
	}
	if err != nil {
		return nil, err
	}
	return &web.File{ContentType: document.ContentType, Name: document.FileName, Size: document.SizeBytes, SHA256: document.SHA256,
		Content: document}, nil
}

// submittedData is a completed session's data.
type submittedData struct {
	SessionID   domain.SessionID     `json:"session_id" doc:"The session’s id."`
	FormType    string               `json:"form_type" enum:"financial_statement" doc:"The form."`
	Status      domain.Status        `json:"status" enum:"completed" doc:"The session’s state."`
	SubmittedAt form.Timestamp       `json:"submitted_at" doc:"When the form was submitted, UTC."`
	Data        *statement.Statement `json:"data" doc:"The answers."`
}

// GetData is GET /v1/sessions/:id/data.
func (s *Server) GetData() Endpoint {
	return endpoint(operation{
		id: "getSessionData", tag: "Form data", summary: "Get the data",
		description: "The answers of a completed session. They are kept until they are erased on request, or for as long as the account has set.",
		errors: []domain.Code{domain.CodeSessionNotFound, domain.CodeSessionNotCompleted, domain.CodeDataErased,
			domain.CodeDataExpired},
		status: 200,
	}, s.sessionData)
}

func (s *Server) sessionData(ctx context.Context, r *sessionID) (*submittedData, error) {
	id, err := r.parse()
	if err != nil {
		return nil, err
	}
	of, err := s.Sessions.Data(ctx, scopeIn(ctx), id, web.Reader(ctx, actorIn(ctx)))
	if err != nil {
		return nil, err
	}
	return newSubmittedData(of), nil
}

// SubmittedData returns what GetData answers, for the dashboard's download.
func SubmittedData(of *sessions.Submitted) any { return newSubmittedData(of) }

func newSubmittedData(of *sessions.Submitted) *submittedData {
	return &submittedData{
		SessionID: of.Session.ID, FormType: of.Session.FormType, Status: of.Session.Status,
		SubmittedAt: form.At(*of.Session.CompletedAt), Data: of.Statement,
	}
}
