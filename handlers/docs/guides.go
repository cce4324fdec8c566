package docs

import (
	"bytes"
	"context"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/service/simulator"
	"candor/internal/service/webhooks"
	"candor/internal/statement"
	"candor/internal/webhook"
	"candor/views/dashboard/snippets"
	view "candor/views/docs"
)

// The guides are Markdown: a title, a paragraph that introduces it, and the
// rest. Values in {{. }} are those of facts. A code block of the language
// "samples" names an operation, whose samples are shown; "verify" shows the code
// that verifies webhooks; "sdk" shows a program in Node and, below ---, in Go (D100).
//
//go:embed guides/*.md
var guideFiles embed.FS

// guideNames are the guides in their order.
var guideNames = []string{
	"quick-start", "sdks", "agents", "session", "statuses", "verify-pdf", "webhooks", "port", "idempotency", "pagination",
	"test-mode", "simulator", "errors", "limits", "going-live", "versions",
}

// facts are what guides say by value, by the names in their text.
type facts map[string]string

func (s *Server) facts(mine *view.Mine) (facts, error) {
	f := facts{
		"BaseURL": s.BaseURL, "Key": mine.Key(), "Delays": delays(s.Schedule),
		"Verifying": webhook.AboutVerifying, "StandardSignature": webhook.AboutStandardSignature,
		"BodySignature": webhook.AboutSignature,
	}
	for name, n := range map[string]int{
		"MaxExpiresDays": domain.MaxExpiresInDays, "ExpiresDays": domain.DefaultExpiresInDays, "RetentionDays": domain.MaxRetentionDays,
		"MaxEndpoints": domain.MaxEndpoints, "EventDays": int(domain.EventRetention.Hours() / 24),
		"RequestDays":      int(domain.RequestRetention.Hours() / 24),
		"IdempotencyHours": int(s.IdempotencyWindow.Hours()), "MaxBodyKiB": s.MaxBody >> 10, "MaxDocuments": statement.MaxDocuments,
		"Attempts": s.Schedule.Attempts(), "AttemptSeconds": int(webhook.AttemptTimeout.Seconds()),
		"Rate": s.Rate.PerMinute, "Burst": s.Rate.Burst, "PrefillKiB": statement.MaxPrefillBytes >> 10, "AskNote": domain.MaxNote,
		"AskLines":     domain.MaxNoteLines,
		"MetadataKeys": domain.MaxMetadataKeys, "MetadataKey": domain.MaxMetadataKey, "MetadataValue": domain.MaxMetadataValue,
		"Waits": webhooks.WaitsPerScope, "CompletionsADay": simulator.CompletionsADay, "DocumentMiB": statement.MaxDocumentBytes >> 20,
		"LiveLinksADay": domain.LiveLinksADay, "TestLinksADay": domain.TestLinksADay,
		"UntriedLinksADay": domain.UntriedLinksADay, "Busy": s.CallsAtOnce,
	} {
		f[name] = strconv.Itoa(n)
	}
	return f, f.addVector()
}

var braced = regexp.MustCompile(`{{.*?}}`)

// read returns a guide's Markdown with the facts in it. It isn't a text/template, whose
// calls by name keep methods in the program that nothing calls: a sixth of it.
func (f facts) read(name string) (string, error) {
	source, err := guideFiles.ReadFile("guides/" + name + ".md")
	text := braced.ReplaceAllStringFunc(string(source), func(match string) string {
		value, ok := f[strings.TrimSuffix(strings.TrimPrefix(match, "{{."), "}}")]
		if !ok {
			err = fmt.Errorf("no fact is named %s", match)
		}
		return value
	})
	return text, err
}

func (s *Server) guides(mine *view.Mine) (templ.Component, error) {
	all, err := s.allGuides(mine)
	if err != nil {
		return nil, err
	}
	p := view.GuidesPage{Page: view.Page{Title: "Guides", Current: view.GuidesURL, Mine: mine}, Guides: all}
	for _, g := range all {
		p.Contents = append(p.Contents, view.Chapter{Title: g.Title, URL: "#" + g.ID, Links: g.Headings})
	}
	return view.Guides(p), nil
}

func (s *Server) allGuides(mine *view.Mine) ([]view.Guide, error) {
	f, err := s.facts(mine)
	if err != nil {
		return nil, err
	}
	var out []view.Guide
	for _, name := range guideNames {
		g, err := s.guide(name, f, mine)
		if err != nil {
			return nil, fmt.Errorf("docs: guide %s: %w", name, err)
		}
		out = append(out, g)
	}
	return out, nil
}

func (s *Server) guide(name string, f facts, mine *view.Mine) (g view.Guide, err error) {
	source, err := f.read(name)
	if err != nil {
		return g, err
	}
	title, rest, _ := strings.Cut(source, "\n")
	g.ID, g.Title = name, strings.TrimPrefix(title, "# ")
	markdown := s.markdown(name, mine)
	content := []byte(rest)
	document := markdown.Parser().Parse(text.NewReader(content),
		parser.WithContext(parser.NewContext(parser.WithIDs(&headingIDs{guide: name}))))
	g.Intro = plain(document.FirstChild(), content)
	for node := document.FirstChild(); node != nil; node = node.NextSibling() {
		if heading, ok := node.(*ast.Heading); ok {
			id, _ := heading.AttributeString("id")
			if heading.Level == 2 {
				g.Headings = append(g.Headings, view.Link{Title: plain(heading, content), URL: fmt.Sprintf("#%s", id)})
			}
			heading.Level++ // the guide's title is of the second level
		}
	}
	var html bytes.Buffer
	err = markdown.Renderer().Render(&html, content, document)
	g.HTML = html.String()
	return g, err
}

// markdown draws a text of ours as HTML, with code as the reference has it.
func (s *Server) markdown(name string, mine *view.Mine) goldmark.Markdown {
	code := &codeRenderer{server: s, guide: name, mine: mine}
	return goldmark.New(goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithAutoHeadingID()),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(code, 1))))
}

// plain is the text of a heading or paragraph.
func plain(node ast.Node, source []byte) string {
	var out strings.Builder
	for child := node.FirstChild(); child != nil; child = child.NextSibling() {
		if t, ok := child.(*ast.Text); ok {
			out.Write(t.Segment.Value(source))
		} else {
			out.WriteString(plain(child, source))
		}
	}
	return out.String()
}

// headingIDs makes anchors that no other guide has.
type headingIDs struct{ guide string }

// Generate returns the anchor of a heading.
func (h *headingIDs) Generate(value []byte, _ ast.NodeKind) []byte {
	id := h.guide + "-" + strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r == ' ', r == '-', r == '_', r == '.', r == '/':
			return '-'
		}
		return -1
	}, string(value)), "-")
	return []byte(id)
}

// Put is called for anchors that the text gives.
func (*headingIDs) Put([]byte) {}

// codeRenderer draws code blocks as the reference does.
type codeRenderer struct {
	server *Server
	guide  string
	mine   *view.Mine
	blocks int
}

// RegisterFuncs takes code blocks.
func (r *codeRenderer) RegisterFuncs(to renderer.NodeRendererFuncRegisterer) {
	to.Register(ast.KindFencedCodeBlock, r.block)
}

func (r *codeRenderer) block(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	block := node.(*ast.FencedCodeBlock)
	var code strings.Builder
	for i := range block.Lines().Len() {
		line := block.Lines().At(i)
		code.Write(line.Value(source))
	}
	language, name := "text", ""
	if block.Info != nil {
		language, name, _ = strings.Cut(string(block.Info.Segment.Value(source)), " ")
	}
	r.blocks++
	id := r.guide + "-code-" + strconv.Itoa(r.blocks)
	component, err := r.component(id, language, name, strings.TrimRight(code.String(), "\n"))
	if err != nil {
		return ast.WalkStop, err
	}
	return ast.WalkSkipChildren, component.Render(context.Background(), w)
}

func (r *codeRenderer) component(id, language, name, code string) (templ.Component, error) {
	switch language {
	case "samples":
		groups, err := r.server.groups(r.mine)
		if err != nil {
			return nil, err
		}
		for _, group := range groups {
			for _, e := range group.Endpoints {
				if e.ID == name {
					for i := range e.Samples {
						e.Samples[i].ID = id + "-" + e.Samples[i].Language
					}
					return view.Samples(id, e.Summary, e.Samples), nil
				}
			}
		}
		return nil, fmt.Errorf("there is no operation %q", name)
	case "verify":
		var all []view.Code
		for _, one := range snippets.All() {
			if one.ID == "node" || one.ID == "python" || one.ID == "go" {
				all = append(all, view.Code{ID: id + "-" + one.ID, Language: one.ID, Name: path.Base(one.File),
					Text: strings.TrimSpace(one.Text)})
			}
		}
		return view.Samples(id, "Verify a webhook", all), nil
	case "sdk":
		node, golang, _ := strings.Cut(code, "\n---\n")
		return view.Samples(id, name, []view.Code{
			{ID: id + "-node", Language: "node", Name: "Node", Text: node}, {ID: id + "-go", Language: "go", Name: "Go", Text: golang},
		}), nil
	}
	if name == "" {
		name = map[string]string{"sh": "Shell", "json": "JSON", "text": "Text"}[language]
	}
	return view.Block(view.Code{ID: id, Language: language, Name: name, Text: code}), nil
}

// delays are the times between attempts, in words.
func delays(s webhook.Schedule) string {
	var out []string
	for i := 1; i < s.Attempts(); i++ {
		delay, _ := s.Next(i)
		unit, size := "second", time.Second
		switch {
		case delay%time.Hour == 0:
			unit, size = "hour", time.Hour
		case delay%time.Minute == 0:
			unit, size = "minute", time.Minute
		}
		n := int(delay / size)
		if n != 1 {
			unit += "s"
		}
		out = append(out, fmt.Sprintf("%d %s", n, unit))
	}
	return web.List(out)
}

var shellBlock = regexp.MustCompile("(?s)```sh ([^\n]+)\n(.*?)\n```")

// QuickStart returns the commands of the guide of that name by their titles, with the key
// in the place of its example.
func (s *Server) QuickStart(key string) (map[string]string, error) {
	f, err := s.facts(nil)
	if err != nil {
		return nil, err
	}
	f["Key"] = key
	text, err := f.read("quick-start")
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, block := range shellBlock.FindAllStringSubmatch(text, -1) {
		out[block[1]] = block[2]
	}
	return out, nil
}

// vectorTime is when the webhook of the test vectors was signed.
var vectorTime = time.Unix(1_795_143_365, 0)

// addVector adds a signed webhook, by which people check code in languages that
// we have none for. Candor's own code signs it.
func (f facts) addVector() error {
	const key, body = "candor-test-vector-not-a-secret!", `{"event":"session.completed","data":{"name":"Zoë O'Brien"}}`
	id, secret := "whd_01m7xsggnverxbaf5yh399t1bc", webhook.SecretPrefix+base64.StdEncoding.EncodeToString([]byte(key)) //nolint:gosec // a test vector
	standard, err := webhook.StandardSignature([]string{secret}, id, vectorTime, []byte(body))
	maps.Copy(f, facts{
		"VectorSecret": secret, "VectorKeyInHex": hex.EncodeToString([]byte(key)), "VectorID": id,
		"VectorTime": fmt.Sprint(vectorTime.Unix()),
		"VectorBody": body, "VectorSignature": webhook.Signature(secret, []byte(body)), "VectorStandard": standard,
	})
	return err
}
