package docs

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
	"time"

	"github.com/a-h/templ"

	view "candor/views/docs"
)

// changes are the entries of the changelog, the newest first. Each begins with a heading
// that is its day and its title.
func (s *Server) changes() (out []view.Change, err error) {
	f, err := s.facts(nil)
	if err != nil {
		return nil, err
	}
	text, err := f.read("changelog")
	if err != nil {
		return nil, err
	}
	_, text, _ = strings.Cut(text, "\n## ")
	for entry := range strings.SplitSeq(text, "\n## ") {
		heading, body, _ := strings.Cut(entry, "\n")
		day, title, ok := strings.Cut(heading, ": ")
		date, err := time.Parse(time.DateOnly, day)
		if err != nil || !ok {
			return nil, fmt.Errorf("docs: the change %q has no day and title", heading)
		}
		var html bytes.Buffer
		if err := s.markdown("change-"+day, nil).Convert([]byte(body), &html); err != nil {
			return nil, err
		}
		out = append(out, view.Change{ID: day, Date: date.Format("2 January 2006"), Title: title, HTML: html.String()})
	}
	return out, nil
}

func (s *Server) changelog(mine *view.Mine) (templ.Component, error) {
	changes, err := s.changes()
	p := view.ChangelogPage{Page: view.Page{Title: "Changelog", Current: view.ChangelogURL, Mine: mine}, Changes: changes}
	return view.Changelog(p), err
}

// A feed is the changelog as Atom (RFC 4287).
type feed struct {
	XMLName xml.Name `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string   `xml:"id"`
	Title   string   `xml:"title"`
	Updated string   `xml:"updated"`
	Author  string   `xml:"author>name"`
	Links   []link   `xml:"link"`
	Entries []entry  `xml:"entry"`
}

type entry struct {
	ID      string  `xml:"id"`
	Title   string  `xml:"title"`
	Updated string  `xml:"updated"`
	Link    link    `xml:"link"`
	Content content `xml:"content"`
}

type link struct {
	Rel  string `xml:"rel,attr,omitempty"`
	Href string `xml:"href,attr"`
}

type content struct {
	Type string `xml:"type,attr"`
	Base string `xml:"http://www.w3.org/XML/1998/namespace base,attr"`
	Text string `xml:",chardata"`
}

func (s *Server) feed() ([]byte, error) {
	changes, err := s.changes()
	if err != nil {
		return nil, err
	}
	page := s.BaseURL + view.ChangelogURL
	out := feed{
		ID: page, Title: "Candor changelog", Updated: midnight(changes[0].ID), Author: "Candor",
		Links: []link{{"self", s.BaseURL + view.FeedURL}, {"alternate", page}},
	}
	for _, one := range changes {
		at := page + "#" + one.ID
		out.Entries = append(out.Entries, entry{
			ID: at, Title: one.Title, Updated: midnight(one.ID), Link: link{Href: at}, Content: content{"html", page, one.HTML},
		})
	}
	text, err := xml.MarshalIndent(out, "", "  ")
	return append([]byte(xml.Header), text...), err
}

// midnight is the beginning of a day, UTC.
func midnight(day string) string { return day + "T00:00:00Z" }
