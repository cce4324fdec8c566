package docs

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"candor/handlers/api/openapi"
)

// A collected request is an operation in a collection for API clients: Postman, Bruno
// (D113). Its variables are those of the collection.
type collected struct {
	ID, Name, Doc, Group string
	Method, Path         string // {id} is :id
	InPath, InQuery      []openapi.Parameter
	Body                 string // JSON, "" for none
}

// The variables of collections. The session is the one that was created last.
const (
	baseVariable    = "base_url"
	keyVariable     = "api_key"
	sessionVariable = "session_id"
)

func (s *Server) collection() (out []collected, session string, err error) {
	groups, err := s.groups(nil)
	if err != nil {
		return nil, "", err
	}
	for _, group := range groups {
		for _, e := range group.Endpoints {
			path := strings.TrimPrefix(e.Path, "/v1")
			o := s.document.Paths[path][strings.ToLower(e.Method)]
			one := collected{ID: o.ID, Name: o.Summary, Doc: o.Description, Group: group.Name, Method: e.Method, Path: path}
			for _, p := range o.Parameters {
				if sample := fmt.Sprint(p.Example); p.In == "path" && strings.HasPrefix(sample, "sess_") {
					session, p.Example = sample, "{{"+sessionVariable+"}}"
				}
				switch p.In {
				case "path":
					one.InPath = append(one.InPath, p)
					one.Path = strings.ReplaceAll(one.Path, "{"+p.Name+"}", ":"+p.Name)
				case "query":
					one.InQuery = append(one.InQuery, p)
				}
			}
			if o.RequestBody != nil {
				media := o.RequestBody.Content["application/json"]
				if one.Body, err = pretty(joined(sampleBody(s.document.Resolve(media.Schema), media.Example))); err != nil {
					return nil, "", err
				}
			}
			out = append(out, one)
		}
	}
	return out, session, nil
}

// object is a JSON object.
type object = map[string]any

// postman is the collection in Postman's format, v2.1.
func (s *Server) postman() ([]byte, error) {
	all, session, err := s.collection()
	if err != nil {
		return nil, err
	}
	folders, at := []object{}, map[string]int{}
	for _, one := range all {
		if _, known := at[one.Group]; !known {
			at[one.Group] = len(folders)
			folders = append(folders, object{"name": one.Group, "item": []object{}})
		}
		folder := folders[at[one.Group]]
		folder["item"] = append(folder["item"].([]object), one.postman())
	}
	return json.MarshalIndent(object{
		"info": object{
			"name": s.document.Info.Title, "description": s.document.Info.Description,
			"schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json",
		},
		"auth": object{"type": "bearer", "bearer": []object{{"key": "token", "value": "{{" + keyVariable + "}}", "type": "string"}}},
		"item": folders,
		"variable": []object{
			{"key": baseVariable, "value": s.document.Servers[0].URL}, {"key": keyVariable, "value": ""},
			{"key": sessionVariable, "value": session},
		},
	}, "", "  ")
}

func (c collected) postman() object {
	raw, variables, query := "{{"+baseVariable+"}}"+c.Path, []object{}, []object{}
	for _, p := range c.InPath {
		variables = append(variables, object{"key": p.Name, "value": fmt.Sprint(p.Example), "description": p.Description})
	}
	sent := url.Values{}
	for _, p := range c.InQuery {
		query = append(query, object{"key": p.Name, "value": exampleOf(p), "description": p.Description, "disabled": p.Example == nil})
		if p.Example != nil {
			sent.Set(p.Name, exampleOf(p))
		}
	}
	if len(sent) > 0 {
		raw += "?" + sent.Encode()
	}
	request := object{
		"method": c.Method, "description": c.Doc, "header": []object{},
		"url": object{
			"raw": raw, "host": []string{"{{" + baseVariable + "}}"}, "path": strings.Split(strings.TrimPrefix(c.Path, "/"), "/"),
			"query": query, "variable": variables,
		},
	}
	out := object{"name": c.Name, "request": request}
	if c.Body != "" {
		request["body"] = object{"mode": "raw", "raw": c.Body, "options": object{"raw": object{"language": "json"}}}
	}
	if c.ID == createSession {
		keep := fmt.Sprintf("pm.collectionVariables.set(%q, pm.response.json().id);", sessionVariable)
		out["event"] = []object{{"listen": "test", "script": object{"type": "text/javascript", "exec": []string{keep}}}}
	}
	return out
}

// createSession is the operation whose session the others are about.
const createSession = "createSession"

func exampleOf(p openapi.Parameter) string {
	switch value := p.Example.(type) {
	case nil:
		return ""
	case json.RawMessage:
		return string(value)
	default:
		return fmt.Sprint(value)
	}
}

// bruno is the collection as the files of a Bruno folder.
func (s *Server) bruno() ([]byte, error) {
	all, session, err := s.collection()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	keep := func(name, text string) {
		if err == nil {
			file, failed := w.Create("candor/" + name)
			if err = failed; err == nil {
				_, err = file.Write([]byte(text))
			}
		}
	}
	keep("bruno.json", `{"version": "1", "name": "Candor", "type": "collection"}`+"\n")
	keep("collection.bru", fmt.Sprintf("auth {\n  mode: bearer\n}\n\nauth:bearer {\n  token: {{%s}}\n}\n", keyVariable))
	keep("environments/Candor.bru", fmt.Sprintf("vars {\n  %s: %s\n  %s: %s\n}\nvars:secret [\n  %s\n]\n",
		baseVariable, s.document.Servers[0].URL, sessionVariable, session, keyVariable))
	for i, one := range all {
		keep(one.Group+"/"+one.Name+".bru", one.bruno(i+1))
	}
	if err == nil {
		err = w.Close()
	}
	return out.Bytes(), err
}

func (c collected) bruno(number int) string {
	var out strings.Builder
	kind, address := "none", "{{"+baseVariable+"}}"+c.Path
	if c.Body != "" {
		kind = "json"
	}
	block := func(name string, lines ...string) {
		if len(lines) > 0 {
			fmt.Fprintf(&out, "%s {\n  %s\n}\n\n", name, strings.ReplaceAll(strings.Join(lines, "\n"), "\n", "\n  "))
		}
	}
	block("meta", "name: "+c.Name, "type: http", fmt.Sprintf("seq: %d", number))
	block(strings.ToLower(c.Method), "url: "+address, "body: "+kind, "auth: inherit")
	var path, query []string
	for _, p := range c.InPath {
		path = append(path, p.Name+": "+exampleOf(p))
	}
	for _, p := range c.InQuery {
		off := ""
		if p.Example == nil {
			off = "~"
		}
		query = append(query, off+p.Name+": "+exampleOf(p))
	}
	block("params:query", query...)
	block("params:path", path...)
	if c.Body != "" {
		block("body:json", c.Body)
	}
	if c.ID == createSession {
		block("vars:post-response", sessionVariable+": res.body.id")
	}
	block("docs", c.Doc)
	return strings.TrimSuffix(out.String(), "\n")
}
