package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"candor/internal/domain"
	"candor/internal/statement"
	"candor/static"
	"candor/views/ui"
)

// read are the methods of a page.
var read = []string{http.MethodGet, http.MethodHead}

// routes registers every route of the server.
func (s *Server) routes(e *echo.Echo) error {
	e.Use(s.identifyRequest, s.limitTime, s.logRequests, s.recoverPanics, s.secureHeaders, s.checkHost, s.admit)

	e.GET("/healthz", s.healthz)
	e.GET("/readyz", s.readyz)
	e.Match(read, static.Prefix+"*", s.staticFile)

	// The customer's form (D5, D47).
	e.Match(read, "/", s.showLanding, guessLanguage)
	e.Match(read, ui.BrandPrefix+":file", s.brandSheet)
	e.Match(read, ui.LogoPrefix+":file", s.logo)
	f := e.Group("/f/:session", guessLanguage, s.limitForms, s.sameOrigin, compressPages)
	f.Match(read, "", s.formPage(s.showHub))
	f.Match(read, "/:token", s.openLink)
	f.GET("/pdf", s.downloadCopy)
	for _, name := range [...]string{
		statement.PersonalDetailsSection, statement.IncomeSection, statement.AssetsSection,
		statement.LiabilitiesSection, statement.ExpensesSection,
	} {
		f.Match(read, "/"+name, s.formPage(s.showSection))
		f.POST("/"+name, s.formPage(s.answerSection))
	}
	f.Match(read, "/"+statement.DocumentsSection, s.formPage(s.showDocuments))
	f.POST("/"+statement.DocumentsSection, s.formPage(s.answerDocuments))
	f.Match(read, "/"+statement.DeclarationSection, s.formPage(s.showDeclaration))
	f.POST("/"+statement.DeclarationSection, s.formPage(s.sign))

	// The partner's staff.
	s.dashboardRoutes(e)
	if s.Development && s.DevMail != nil {
		e.Match(read, "/dev/mail", s.showDevMail)
	}

	// What payment providers tell.
	if s.Stripe != nil {
		e.POST("/billing/stripe", s.stripeEvent)
	}

	// The API, described by its own document.
	operations := s.operations()
	for _, op := range operations {
		e.Add(op.method, op.path, op.serve)
		if op.method == http.MethodGet {
			e.HEAD(op.path, op.serve)
		}
	}
	return s.serveDescription(e, operations)
}

// operations are the endpoints of the API, all of them.
func (s *Server) operations() []operation {
	return []operation{
		posting(s, route{"POST", "/v1/sessions", needs{domain.SessionsWrite}, 201, createSessionDoc()}, s.createSession),
		endpoint(route{"GET", "/v1/sessions", needs{domain.SessionsRead}, 200, listSessionsDoc()}, s.listSessions),
		endpoint(route{"GET", "/v1/sessions/:id", needs{domain.SessionsRead}, 200, getSessionDoc()}, s.getSession),
		endpoint(route{"DELETE", "/v1/sessions/:id", needs{domain.SessionsWrite}, 200, cancelSessionDoc()}, s.cancelSession),
		endpoint(route{"GET", "/v1/sessions/:id/data", needs{domain.DataRead}, 200, sessionDataDoc()}, s.sessionData),
		endpoint(route{"GET", "/v1/sessions/:id/pdf", needs{domain.DataRead}, 200, sessionPDFDoc()}, s.sessionPDF),
		endpoint(route{"GET", "/v1/sessions/:id/documents/:document_id", needs{domain.DataRead}, 200, sessionDocumentDoc()}, s.sessionDocument),
		endpoint(route{"GET", "/v1/events", needs{domain.SessionsRead, domain.DataRead}, 200, listEventsDoc()}, s.listEvents),
		endpoint(route{"GET", "/v1/billing/subscription", needs{domain.BillingRead}, 200, subscriptionDoc()}, s.billingSubscription),
		endpoint(route{"GET", "/v1/billing/usage", needs{domain.BillingRead}, 200, usageDoc()}, s.billingUsage),
	}
}
