package docs

import (
	"github.com/a-h/templ"

	view "candor/views/docs"
)

func (s *Server) index(mine *view.Mine) (templ.Component, error) {
	p := view.IndexPage{Page: view.Page{Title: "Documentation", Current: view.Root, Mine: mine}}
	var err error
	if p.Guides, err = s.allGuides(mine); err != nil {
		return nil, err
	}
	if p.Groups, err = s.groups(mine); err != nil {
		return nil, err
	}
	for _, e := range p.Groups[0].Endpoints {
		if e.Method == "POST" && p.First == nil {
			p.First = e.Samples
		}
	}
	return view.Index(p), nil
}
