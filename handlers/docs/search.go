package docs

import (
	"strings"

	view "candor/views/docs"
)

// A finding is what the search can find: [title, kind, address, further text],
// which the page's script looks through.
type finding [4]string

// searchIndex lists everything that has an anchor.
func (s *Server) searchIndex() ([]finding, error) {
	guides, err := s.allGuides(nil)
	if err != nil {
		return nil, err
	}
	r, err := s.referencePage(nil)
	if err != nil {
		return nil, err
	}
	var out []finding
	for _, g := range guides {
		out = append(out, finding{g.Title, "Guide", view.GuidesURL + "#" + g.ID, g.Intro})
		for _, h := range g.Headings {
			out = append(out, finding{h.Title, g.Title, view.GuidesURL + h.URL, ""})
		}
	}
	add := func(title, kind, anchor, text string) {
		out = append(out, finding{title, kind, view.ReferenceURL + "#" + anchor, text})
	}
	for _, group := range r.Groups {
		for _, e := range group.Endpoints {
			add(e.Summary, e.Method+" "+e.Path, e.ID, e.Doc)
			for _, f := range append(e.Params, e.Body...) {
				add(f.Name, e.Method+" "+e.Path, f.ID, f.Doc)
			}
		}
	}
	for _, e := range r.Events {
		add(e.Name, "Event", "event-"+e.Name, e.Summary)
	}
	for _, e := range r.Errors {
		add(e.Code, "Error "+e.Status, "error-"+e.Code, e.Meaning)
	}
	for _, o := range r.Objects {
		add(o.Name, "Object", o.ID, o.Doc)
		for _, f := range o.Fields {
			add(f.Name, o.Name, f.ID, f.Doc)
		}
	}
	for _, f := range append(r.Headers, r.Webhook...) {
		add(f.Name, "Header", f.ID, f.Doc)
	}
	for i, one := range out {
		out[i][3] = strings.ReplaceAll(one[3], "`", "")
	}
	return out, nil
}
