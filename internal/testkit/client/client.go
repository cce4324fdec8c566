// Package client is who uses a running service: a partner's program, a browser without
// scripts, and connections for a load. Tests and tools have it in common. It shares no
// code with the service.
package client

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"time"
)

// Account is what `candor account create --json` prints.
type Account struct {
	AccountID         string `json:"account_id"`
	TestKey           string `json:"test_key"`
	LiveKey           string `json:"live_key"`
	TestWebhookSecret string `json:"test_webhook_secret"`
	LiveWebhookSecret string `json:"live_webhook_secret"`
	Email             string `json:"email"`
	Password          string `json:"password"`
}

// Session is a session in the API.
type Session struct {
	ID         string `json:"id"`
	Status     string `json:"status"`
	SessionURL string `json:"session_url"`
}

// Link is the path of the session's link.
func (s Session) Link() string {
	_, after, _ := strings.Cut(s.SessionURL, "/f/")
	return "/f/" + after
}

// Answer is a response that was read to its end.
type Answer struct {
	Status   int
	Header   http.Header
	Location string // the whole address; "" for none
	Body     []byte
}

// Code is the error code of an API's answer, "" for none.
func (a Answer) Code() string {
	var e struct {
		Error struct {
			Code string `json:"code"`
		} `json:"error"`
	}
	_ = json.Unmarshal(a.Body, &e) // a page has none
	return e.Error.Code
}

// Client keeps cookies and follows no redirects.
type Client struct {
	HTTP   *http.Client
	Base   string            // before paths, without a slash at its end
	Header map[string]string // of every request
}

// New returns a browser.
func New(base string) *Client {
	jar, _ := cookiejar.New(nil) // without options it never fails
	return &Client{Base: base, Header: map[string]string{"Sec-Fetch-Site": "same-origin"}, HTTP: &http.Client{
		Jar: jar, Timeout: 2 * time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}}
}

// NewPartner returns a partner's program with an API key.
func NewPartner(base, key string) *Client {
	c := New(base)
	c.Header = map[string]string{"Authorization": "Bearer " + key}
	return c
}

// Send sends a request to a path or a whole address. A header of "" isn't sent.
func (c *Client) Send(ctx context.Context, method, to string, body io.Reader, header map[string]string) (a Answer, err error) {
	if strings.HasPrefix(to, "/") {
		to = c.Base + to
	}
	request, err := http.NewRequestWithContext(ctx, method, to, body)
	if err != nil {
		return a, err
	}
	for _, all := range []map[string]string{c.Header, header} {
		for name, value := range all {
			request.Header.Set(name, value)
			if value == "" {
				request.Header.Del(name)
			}
		}
	}
	if size := header["Content-Length"]; size != "" {
		if _, err := fmt.Sscan(size, &request.ContentLength); err != nil {
			return a, err
		}
	}
	response, err := c.HTTP.Do(request)
	if err != nil {
		return a, err
	}
	defer func() { _ = response.Body.Close() }()
	a = Answer{Status: response.StatusCode, Header: response.Header}
	if at, err := response.Location(); err == nil {
		a.Location = at.String()
	}
	a.Body, err = io.ReadAll(response.Body)
	return a, err
}

// Cookies are the browser's at a path, as a request's header has them.
func (c *Client) Cookies(path string) string {
	at, err := url.Parse(c.Base + path)
	if err != nil {
		panic(err) // tests and tools know their paths
	}
	var all []string
	for _, one := range c.HTTP.Jar.Cookies(at) {
		all = append(all, one.Name+"="+one.Value)
	}
	return strings.Join(all, "; ")
}

// Get reads a page or resource.
func (c *Client) Get(ctx context.Context, to string) (Answer, error) {
	return c.Send(ctx, http.MethodGet, to, http.NoBody, nil)
}

// Post sends a form.
func (c *Client) Post(ctx context.Context, to string, values url.Values) (Answer, error) {
	return c.Send(ctx, http.MethodPost, to, strings.NewReader(values.Encode()), FormHeader)
}

// FormHeader is the header of a form.
var FormHeader = map[string]string{"Content-Type": "application/x-www-form-urlencoded"}

// Document is the body of a form that uploads a document, and its header.
func Document(category, name string, content []byte) ([]byte, map[string]string) {
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	_ = w.WriteField("category", category) // a buffer takes everything
	_ = w.WriteField("action", "upload")
	part, _ := w.CreateFormFile("file", name)
	_, _ = part.Write(content)
	_ = w.Close()
	return body.Bytes(), map[string]string{"Content-Type": w.FormDataContentType()}
}

// Open opens a session's link and its form, and returns the form's address and page.
func (c *Client) Open(ctx context.Context, link string) (form string, page []byte, err error) {
	a, err := c.Get(ctx, link)
	if err == nil && (a.Status != http.StatusSeeOther || a.Location == "") {
		err = fmt.Errorf("the link answered %d to %q, want 303", a.Status, a.Location)
	}
	if err != nil {
		return "", nil, err
	}
	form = a.Location
	if a, err = c.Get(ctx, form); err == nil && a.Status != http.StatusOK {
		err = fmt.Errorf("the form answered %d, want 200", a.Status)
	}
	return form, a.Body, err
}

// Signed reports whether the secret, and no other, made both signatures of a webhook.
func Signed(secret string, header http.Header, body []byte) bool {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	standard := header.Get("X-Webhook-ID") + "." + header.Get("Webhook-Timestamp") + "." + string(body)
	return err == nil && header.Get("Webhook-Id") == header.Get("X-Webhook-ID") &&
		header.Get("X-Webhook-Signature") == hex.EncodeToString(sign([]byte(secret), string(body))) &&
		header.Get("Webhook-Signature") == "v1,"+base64.StdEncoding.EncodeToString(sign(key, standard))
}

func sign(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}
