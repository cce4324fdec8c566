package handlers

import (
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"candor/internal/domain"
)

// callMethods are the methods that the log of API requests names; a caller can
// send any word.
var callMethods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions,
}

// callOf is what the log of API requests has of a call: nothing of what the
// caller typed, but ids of ours.
func callOf(c echo.Context, r *request, took time.Duration) domain.APIRequest {
	call := domain.APIRequest{
		ID: r.id, AccountID: r.caller.AccountID, Livemode: r.caller.Livemode, KeyID: r.caller.KeyID,
		Method: c.Request().Method, Route: c.Path(), Status: c.Response().Status, ErrorCode: r.code,
		Replayed:   c.Response().Header().Get(headerReplayed) != "",
		DurationUS: int(min(took, time.Hour).Microseconds()), Address: r.address,
	}
	if !slices.Contains(callMethods, call.Method) {
		call.Method = "other"
	}
	if id, err := domain.ParseSessionID(c.Param("id")); err == nil {
		call.SessionID = &id
	} else if r.created != nil && call.Status == http.StatusCreated {
		call.SessionID = r.created
	}
	if id, err := domain.ParseDocumentID(c.Param("document_id")); err == nil {
		call.DocumentID = &id
	}
	return call
}
