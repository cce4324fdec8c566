package handlers

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"candor/statement"
	"candor/static"
)

// read are the methods of a page.
var read = []string{http.MethodGet, http.MethodHead}

// routes registers every route of the server.
func (s *Server) routes(e *echo.Echo) error {
	e.Use(s.identifyRequest, s.logRequests, s.recoverPanics, s.secureHeaders)

	e.GET("/healthz", s.healthz)
	e.GET("/readyz", s.readyz)
	e.Match(read, static.Prefix+"*", s.staticFile)

	// The customer's form (D5, D47).
	e.Match(read, "/", s.showLanding)
	f := e.Group("/f/:session", s.sameOrigin, compressPages)
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

	return nil
}
