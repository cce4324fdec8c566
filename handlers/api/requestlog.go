package api

import (
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
)

// LogEntry is what the log of API requests stores of a request whose key is
// known: of what the client typed ids of ours, and names of unknown fields that are near
// to known ones. The messages of a refused request are ours.
func LogEntry(c echo.Context, took time.Duration) domain.APIRequest {
	r := web.RequestOf(c)
	call := domain.APIRequest{
		ID: r.ID, AccountID: r.Caller.AccountID, Livemode: r.Caller.Livemode, KeyID: r.Caller.KeyID,
		Method: c.Request().Method, Route: c.Path(), Status: c.Response().Status, ErrorCode: r.Code,
		Replayed:   c.Response().Header().Get(headerReplayed) != "",
		Ignored:    loggedIgnored(c.Response().Header().Get(headerIgnored)),
		Refused:    domain.RefusedText(r.Refused),
		DurationUS: int(min(took, time.Hour).Microseconds()), Address: r.Address,
	}
	if !slices.Contains(domain.RequestMethods, call.Method) {
		call.Method = "other"
	}
	if id, err := domain.ParseSessionID(c.Param("id")); err == nil {
		call.SessionID = &id
	} else if r.Created != nil && call.Status == http.StatusCreated {
		call.SessionID = r.Created
	}
	if id, err := domain.ParseDocumentID(c.Param("document_id")); err == nil {
		call.DocumentID = &id
	}
	return call
}
