package dashboard

import (
	"cmp"
	"net/http"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/webhooks"
	view "candor/views/dashboard"
)

// ShowNewEndpoint shows the form of a new webhook endpoint.
func (s *Server) ShowNewEndpoint(c echo.Context, v *Visit) error {
	return web.Render(c, http.StatusOK, view.NewEndpoint(view.NewEndpointPage{Page: s.page(v, "New webhook endpoint")}))
}

// endpointParams are what the form of an endpoint says, and what it shows again.
func endpointParams(c echo.Context) (webhooks.EndpointParams, view.EndpointForm, error) {
	values, err := web.FormValues(c)
	shown := view.EndpointForm{URL: values.Get("url"), Description: values.Get("description"), Types: values["event_types"]}
	types := []domain.EventType{}
	for _, t := range shown.Types {
		types = append(types, domain.EventType(t))
	}
	return webhooks.EndpointParams{URL: &shown.URL, Description: &shown.Description, EventTypes: &types}, shown, err
}

// CreateEndpoint adds a webhook endpoint and shows its secret.
func (s *Server) CreateEndpoint(c echo.Context, v *Visit) error {
	params, shown, err := endpointParams(c)
	if err != nil {
		return err
	}
	made, err := s.Webhooks.CreateEndpoint(c.Request().Context(), v.Scope, nil, v.Actor, params)
	if errs := web.ValidationErrors(err); errs != nil {
		page := view.NewEndpointPage{Page: s.page(v, "New webhook endpoint"), Form: shown}
		page.Errors = view.ErrorItems(errs)
		return web.Render(c, http.StatusUnprocessableEntity, view.NewEndpoint(page))
	}
	if err != nil {
		return err
	}
	page := view.SecretsPage{Page: s.page(v, "Webhook endpoint added"), Text: made.Secret, Endpoint: made.ID.String()}
	return web.Render(c, http.StatusOK, view.EndpointAdded(page))
}

// endpointID is the endpoint in the address; a malformed one is that of no endpoint.
func endpointID(c echo.Context) domain.EndpointID {
	id, _ := domain.ParseEndpointID(c.Param("endpoint"))
	return id
}

// ShowEndpoint shows a webhook endpoint.
func (s *Server) ShowEndpoint(c echo.Context, v *Visit) error {
	return s.endpointPage(c, v, endpointID(c), nil, nil)
}

// endpointPage shows an endpoint. typed is what its form shows instead of what is stored.
func (s *Server) endpointPage(c echo.Context, v *Visit, id domain.EndpointID, typed *view.EndpointForm, errs form.Errors) error {
	ctx := c.Request().Context()
	e, err := s.Webhooks.SetUpEndpoint(ctx, v.Scope, id)
	if err != nil {
		return err
	}
	page := view.EndpointPage{Page: s.page(v, "Webhook endpoint"), Endpoint: *e, Form: view.FormOfEndpoint(e)}
	page.Of, page.Errors = view.EndpointName(*e), view.ErrorItems(errs)
	if typed != nil {
		page.Form = *typed
	}
	months, err := s.Webhooks.EndpointMonths(ctx, []domain.EndpointID{id})
	if err != nil {
		return err
	}
	if month := months[id]; month != nil {
		page.Month = *month
	}
	outages, err := s.Webhooks.Outages(ctx, []domain.EndpointID{id}, maxListedOutages)
	if err != nil {
		return err
	}
	page.Outages = outages[id]
	secrets, err := s.Webhooks.Secrets(ctx, v.Scope, &id)
	if err != nil {
		return err
	}
	page.Test = view.TestForm{Endpoint: id.String(), Type: cmp.Or(c.FormValue("type"), string(domain.SessionCompleted))}
	page.Secret = view.SecretState{Endpoint: id.String(), NextSince: secrets.NextSince, PreviousUntil: secrets.PreviousUntil}
	return web.Render(c, pageStatus(errs), view.Endpoint(page))
}

// ChangeEndpoint changes an endpoint's URL, description and filter.
func (s *Server) ChangeEndpoint(c echo.Context, v *Visit) error {
	params, shown, err := endpointParams(c)
	if err != nil {
		return err
	}
	_, err = s.Webhooks.ChangeEndpoint(c.Request().Context(), v.Scope, endpointID(c), v.Actor, params)
	if errs := web.ValidationErrors(err); errs != nil {
		return s.endpointPage(c, v, endpointID(c), &shown, errs)
	}
	return s.backTo(c, v, endpointPath(c), err, "endpoint_saved")
}

func endpointPath(c echo.Context) string { return "webhooks/endpoints/" + endpointID(c).String() }

// PauseEndpoint makes an endpoint's webhooks wait.
func (s *Server) PauseEndpoint(c echo.Context, v *Visit) error {
	return s.pauseEndpoint(c, v, true, "endpoint_paused")
}

// ResumeEndpoint sends an endpoint's webhooks again.
func (s *Server) ResumeEndpoint(c echo.Context, v *Visit) error {
	return s.pauseEndpoint(c, v, false, "endpoint_resumed")
}

func (s *Server) pauseEndpoint(c echo.Context, v *Visit, paused bool, notice string) error {
	_, err := s.Webhooks.ChangeEndpoint(c.Request().Context(), v.Scope, endpointID(c), v.Actor,
		webhooks.EndpointParams{Paused: &paused})
	return s.backTo(c, v, endpointPath(c), err, notice)
}

// DeleteEndpoint deletes an endpoint.
func (s *Server) DeleteEndpoint(c echo.Context, v *Visit) error {
	err := s.Webhooks.DeleteEndpoint(c.Request().Context(), v.Scope, endpointID(c), v.Actor)
	return s.backTo(c, v, "webhooks", err, "endpoint_deleted")
}
