package docs

import (
	"context"
	"fmt"
	"strings"

	"candor/handlers/docs/markdown"
	view "candor/views/docs"
)

// Texts are the guides, the reference and the changelog as Markdown, one by one (D113).
func (s *Server) Texts() ([]view.Text, error) {
	guides, err := s.allGuides(nil)
	if err != nil {
		return nil, err
	}
	var out []view.Text
	add := func(path, title, about string) {
		out = append(out, view.Text{URL: s.BaseURL + path, Title: title, About: about})
	}
	for _, g := range guides {
		add(guidePath(g.ID), g.Title, g.Intro)
	}
	add(view.MarkdownOf(view.ReferenceURL), "API reference", "Every endpoint, event, error and object, with samples.")
	add(view.MarkdownOf(view.ChangelogURL), "Changelog", "What is new for partners.")
	return out, nil
}

// Read returns a text by its URL.
func (s *Server) Read(url string) ([]byte, error) {
	asset, err := s.public[strings.TrimPrefix(url, s.BaseURL)].asset()
	if err != nil {
		return nil, err
	}
	return asset.Bytes(), nil
}

func guidePath(name string) string { return view.MarkdownOf(guideURL(name)) }

func guideURL(name string) string { return view.GuidesURL + "/" + name }

// pageText is a page as Markdown.
func (s *Server) pageText(url string) ([]byte, error) {
	html, err := s.draw(context.Background(), pages[url], nil)
	if err != nil {
		return nil, err
	}
	text, err := markdown.Of(html, s.BaseURL, url)
	return []byte(text), err
}

// guideText is a guide as Markdown.
func (s *Server) guideText(name string) ([]byte, error) {
	f, err := s.facts(nil)
	if err != nil {
		return nil, err
	}
	g, err := s.guide(name, f, nil)
	if err != nil {
		return nil, err
	}
	alone := strings.NewReplacer("<h3", "<h2", "</h3", "</h2", "<h4", "<h3", "</h4", "</h3").Replace(g.HTML)
	text, err := markdown.Of([]byte("<h1>"+g.Title+"</h1>"+alone), s.BaseURL, view.GuidesURL)
	return []byte(text), err
}

// llms leads programs to the texts, in the form of llmstxt.org.
func (s *Server) llms() ([]byte, error) {
	texts, err := s.Texts()
	if err != nil {
		return nil, err
	}
	var out strings.Builder
	about, rest, _ := strings.Cut(s.document.Info.Description, "\n\n")
	fmt.Fprintf(&out, "# %s\n\n> %s %s\n\n%s\n\n## Docs\n\n", s.document.Info.Title, s.document.Info.Summary, about, rest)
	line := func(one view.Text) { fmt.Fprintf(&out, "- [%s](%s): %s\n", one.Title, one.URL, one.About) }
	for _, one := range texts {
		line(one)
	}
	out.WriteString("\n## For programs\n\n")
	line(view.Text{URL: s.BaseURL + "/v1/openapi.yaml", Title: "OpenAPI 3.1", About: "The whole API; also as /v1/openapi.json."})
	line(view.Text{URL: s.BaseURL + view.PostmanURL, Title: "Postman collection", About: "A request for each operation."})
	line(view.Text{URL: s.BaseURL + view.BrunoURL, Title: "Bruno collection", About: "The same, as a folder."})
	out.WriteString("\n## Optional\n\n")
	line(view.Text{URL: s.BaseURL + view.LLMsFullURL, Title: "Everything", About: "All guides and the reference in one file."})
	return []byte(out.String()), nil
}

// everything is all pages as one text.
func (s *Server) everything() ([]byte, error) {
	var out []byte
	for _, url := range []string{view.GuidesURL, view.ReferenceURL, view.ChangelogURL} {
		text, err := s.pageText(url)
		if err != nil {
			return nil, err
		}
		out = append(append(out, text...), '\n')
	}
	return out, nil
}
