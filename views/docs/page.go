// Package docs draws the documentation that partners' developers read: the
// guides and the reference. It knows what is shown, not where it comes from.
package docs

// Root is the path below which the documentation is.
const Root = "/docs"

// The addresses of the pages.
const (
	GuidesURL    = Root + "/guides"
	ReferenceURL = Root + "/reference"
	ChangelogURL = Root + "/changelog"
	FeedURL      = ChangelogURL + ".atom"
	SearchURL    = Root + "/search.json"
	ListenURL    = Root + "/listen.mjs"
	PostmanURL   = Root + "/candor.postman_collection.json"
	BrunoURL     = Root + "/candor-bruno.zip"
	LLMsURL      = "/llms.txt"
	LLMsFullURL  = "/llms-full.txt"
)

// MarkdownOf is where a page, or a guide alone, is as Markdown.
func MarkdownOf(url string) string { return url + ".md" }

// A Page is the frame around the content of a page.
type Page struct {
	Title    string
	Current  string // the page's address
	Contents []Chapter
	Mine     *Mine // nil unless staff are signed in
}

// Mine is what a signed-in reader's samples are filled in with.
type Mine struct {
	Account   string
	KeyHint   string // how a test key starts and ends; "" if there is none to show
	SessionID string // of the newest test session; "" without one
}

// A Chapter is a part of the page in its contents.
type Chapter struct {
	Title, URL string
	Links      []Link
	Folded     bool // its links are shown on demand
}

// A Link leads to an entry of the page.
type Link struct {
	Title, URL string
	Method     string // of an endpoint
	Code       bool   // the title is code
}

// A Field is a field of an object, a parameter or a header.
type Field struct {
	ID       string // of its anchor
	Name     string
	Type     []Word
	Limits   string
	Required bool
	Doc      string
	Fields   []Field // of the object that it holds, or of each item
}

// A Word is part of a field's type: text, a value or a link to an object.
type Word struct {
	Text, URL string
	Code      bool
}

// Code is text in a language, ID its element's.
type Code struct {
	ID, Language, Name, Text string
}

// An Endpoint is an operation of the API.
type Endpoint struct {
	ID, Method, Path, Summary, Doc, Permission string
	Params, Body                               []Field
	Status                                     string
	Returns                                    []Word
	ErrorCodes                                 []string
	Samples                                    []Code
	Answer                                     *Code // nil for a file
}

// A Group is the endpoints of a resource.
type Group struct {
	ID, Name, Doc string
	Endpoints     []Endpoint
}

// An Object is a named object of responses or requests.
type Object struct {
	ID, Name, Doc string
	Fields        []Field
	Values        []string // of a text that has only these
}

// An ErrorCode is what is known about a code.
type ErrorCode struct {
	Code, Status, Meaning, Remedy string
	Retry                         bool
	Endpoints                     []Link // that answer with it
	Example                       Code
}

// An Event is a type of event.
type Event struct {
	Name, Summary, Doc string
	Fields             []Field // of its data
	Example            Code
}

// A ReferencePage is everything about the API.
type ReferencePage struct {
	Page
	BaseURL          string
	Intro            []string // paragraphs
	Headers, Webhook []Field  // of responses, of webhooks
	Groups           []Group
	Objects          []Object
	Errors           []ErrorCode
	Events           []Event
}

// A Guide is one subject, in a few paragraphs.
type Guide struct {
	ID, Title, Intro string
	HTML             string // made from our own Markdown
	Headings         []Link
}

// A GuidesPage has all guides, one below the other.
type GuidesPage struct {
	Page
	Guides []Guide
}

// A Text is a part of the documentation as Markdown.
type Text struct{ URL, Title, About string }

// A Change is an entry of the changelog.
type Change struct {
	ID, Date, Title string // ID is the day, as in RFC 3339
	HTML            string // made from our own Markdown
}

// A ChangelogPage has what changed for partners, the newest first.
type ChangelogPage struct {
	Page
	Changes []Change
}

// An IndexPage leads to the guides and the reference.
type IndexPage struct {
	Page
	Guides []Guide
	Groups []Group
	First  []Code // a first request
}

// Key is what stands for the reader's own key.
func (m *Mine) Key() string {
	if m == nil || m.KeyHint == "" {
		return "candor_test_…"
	}
	return m.KeyHint
}
