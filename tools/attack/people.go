package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"candor/internal/statement"
	"candor/internal/testkit/client"
	"candor/tools/harness"
)

// signIn signs a staff user in and returns where it redirects to.
func (b *browser) signIn(ctx context.Context, email, password string) (client.Answer, error) {
	return b.Post(ctx, "/dashboard/sign-in", url.Values{"email": {email}, "password": {password}})
}

// knownAddress tries wrong passwords for an address from another network until
// sign-in from there is refused, and then signs the owner in.
func (a *attack) knownAddress(ctx context.Context) error {
	email, password := a.Account.Email, a.Account.Password
	own, err := a.owner(ctx, a.Account, "203.0.113.20")
	if err != nil {
		return err
	}
	for i := range 12 {
		thief := a.newBrowser(fmt.Sprintf("198.51.102.%d", i+1))
		if _, err := thief.signIn(ctx, email, fmt.Sprintf("wrong password %d", i)); err != nil {
			return err
		}
		if _, err := thief.Post(ctx, "/dashboard/forgot", url.Values{"email": {email}}); err != nil {
			return err
		}
	}
	confirmed, err := own.Post(ctx, "/dashboard/confirm", url.Values{"password": {password}, "then": {"/dashboard"}})
	if err != nil {
		return err
	}
	again, err := own.signIn(ctx, email, password)
	if err != nil {
		return err
	}
	reset, err := own.Post(ctx, "/dashboard/forgot", url.Values{"email": {email}})
	if err != nil {
		return err
	}
	a.add(confirmed.Status == http.StatusSeeOther && again.Status == http.StatusSeeOther,
		"12 wrong passwords, and emails requested, at a known address from elsewhere",
		"the owner's browser confirms and signs in", "confirm %d, sign in %d, ask for an email %d", confirmed.Status, again.Status,
		reset.Status)
	return nil
}

// marker is typed into a form; no dump may show it.
const marker = "Quillfeather"

// storedText fills a form, half fills another, and searches a dump of the database
// and the folder of documents for the answers.
func (a *attack) storedText(ctx context.Context) error {
	mark := func(section string, values url.Values) {
		switch section {
		case statement.PersonalDetailsSection:
			values.Set("full_name", marker+" Person")
			values.Set("employer", marker+" Pty Ltd")
		case statement.DeclarationSection:
			values.Set("full_name", marker+" Person")
		}
	}
	done, err := a.newCustomer(ctx, "198.51.101.205")
	if err != nil {
		return err
	}
	got, err := done.attach(ctx, done.path(statement.DocumentsSection), "bank_statement", marker+".pdf", pdfHead+marker, 2000)
	if err != nil || got.Status != http.StatusSeeOther {
		return unexpected("the upload", got, err)
	}
	if err := done.fill(ctx, mark, statement.SectionNames[:]...); err != nil {
		return err
	}
	open, err := a.newCustomer(ctx, "198.51.101.206")
	if err != nil {
		return err
	}
	got, err = open.Post(ctx, open.path(statement.PersonalDetailsSection), url.Values{"full_name": {marker + " Draft"}})
	if err != nil || got.Status != http.StatusUnprocessableEntity {
		return unexpected("the draft", got, err)
	}
	got, err = done.awaitPDF(ctx)
	if err != nil || got.Status != http.StatusOK {
		return unexpected("the PDF", got, err)
	}
	return a.searchStored(ctx)
}

func (a *attack) searchStored(ctx context.Context) error {
	dump, err := exec.CommandContext(ctx, filepath.Join(a.Postgres.BinDir(), "pg_dump"), a.DSN).Output()
	if err != nil {
		return fmt.Errorf("pg_dump: %w", err)
	}
	inDump := bytes.Count(dump, []byte(marker)) + bytes.Count(dump, []byte(hex.EncodeToString([]byte(marker))))
	pdfs := bytes.Count(dump, []byte(hex.EncodeToString([]byte(pdfHead[:5]))))
	files, inFiles := 0, 0
	err = filepath.WalkDir(a.DataDir(), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		files++
		inFiles += bytes.Count(content, []byte(marker)) + bytes.Count(content, []byte(pdfHead[:5]))
		return err
	})
	if err != nil {
		return err
	}
	a.add(inDump+pdfs+inFiles == 0, "what was typed, searched in a dump of the database and in the blob folder", "nothing is found",
		"typed text %d times and PDFs %d times in %d MB of dump, %d times in %d files", inDump, pdfs, len(dump)>>20, inFiles, files)
	return nil
}

// guessedLinks guesses the secret of a link and requests another account's session.
func (a *attack) guessedLinks(ctx context.Context) error {
	c, err := a.newCustomer(ctx, "198.51.101.207")
	if err != nil {
		return err
	}
	token := c.link[strings.LastIndex(c.link, "/")+1:]
	const guesses = 2000
	o := &outcome{statuses: map[int]int{}}
	var conn *client.Conn
	defer func() { conn.Close() }()
	for i := range guesses {
		guess := []byte(token)
		guess[i%len(guess)] ^= byte(1 + i/len(guess)%3)
		if string(guess) == token {
			continue
		}
		status, _ := a.send(ctx, &conn, client.Request("GET", a.Addr, "/f/"+c.id+"/"+url.PathEscape(string(guess)), "",
			"X-Forwarded-For: 198.51.102.200"))
		o.count(status)
	}
	opened := o.statuses[http.StatusOK] + o.statuses[http.StatusSeeOther]
	again := &customer{a.newBrowser("198.51.101.208"), c.id, c.link}
	rightErr := again.open(ctx)
	foreign, err := a.newBrowser(victimNetwork).call(ctx, a.victim, http.MethodGet, "/v1/sessions/"+c.id, "")
	if err != nil {
		return err
	}
	a.add(opened == 0 && rightErr == nil && foreign.Status == http.StatusNotFound,
		fmt.Sprintf("%d guesses of a link's secret; another account's session by API", o.total),
		"none opens, the right link still does; 404", "%s; the right link: %v; %d", o, orOpens(rightErr), foreign.Status)
	return nil
}

func orOpens(err error) string {
	if err != nil {
		return err.Error()
	}
	return "opens"
}

// otherSites posts like a browser that shows a page of another site.
func (a *attack) otherSites(ctx context.Context) error {
	staff, err := a.owner(ctx, a.victim, "203.0.113.21")
	if err != nil {
		return err
	}
	c, err := a.newCustomer(ctx, "198.51.101.209")
	if err != nil {
		return err
	}
	var passed []string
	tried := 0
	for _, p := range []struct {
		by   *browser
		path string
	}{
		{staff, "/dashboard/sign-in"}, {staff, "/dashboard/sign-out"}, {staff, "/dashboard/confirm"}, {staff, "/dashboard/me/name"},
		{staff, "/dashboard/test/keys"},
		{a.newBrowser("198.51.102.201"), "/dashboard/sign-up"}, {a.newBrowser("198.51.102.201"), "/dashboard/forgot"},
		{c.browser, c.path(statement.IncomeSection)}, {c.browser, c.path(statement.DocumentsSection)},
		{c.browser, c.path(statement.DeclarationSection)},
	} {
		for _, header := range []map[string]string{
			{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
			{"Sec-Fetch-Site": "same-site", "Origin": "https://evil.localhost"},
			{"Sec-Fetch-Site": "", "Origin": "https://evil.example"},
		} {
			header["Content-Type"] = "application/x-www-form-urlencoded"
			got, err := p.by.Send(ctx, http.MethodPost, p.path, strings.NewReader("name=Evil&password=x"), header)
			if err != nil {
				return err
			}
			tried++
			if got.Status != http.StatusForbidden {
				passed = append(passed, fmt.Sprintf("%s %d", p.path, got.Status))
			}
		}
	}
	a.add(len(passed) == 0, fmt.Sprintf("%d posts from other sites' pages", tried), "all get 403", "%d got something else %s",
		len(passed), strings.Join(passed, ", "))
	return nil
}

// hostHeader sends another host's name. No link in a response or an email may have
// it.
func (a *attack) hostHeader(ctx context.Context) error {
	const evil = "evil.example"
	var statuses []string
	found := 0
	for _, p := range []struct{ method, path, body string }{
		{"GET", "/", ""}, {"GET", "/dashboard", ""}, {"GET", "/v1/openapi.json", ""},
		{"POST", "/dashboard/forgot", "email=" + url.QueryEscape(a.victim.Email)},
	} {
		b := a.newBrowser("203.0.113.22")
		request, err := http.NewRequestWithContext(ctx, p.method, b.Base+p.path, strings.NewReader(p.body))
		if err != nil {
			return err
		}
		request.Host = evil
		request.Header.Set("X-Forwarded-Host", evil)
		request.Header.Set("X-Forwarded-For", b.Header["X-Forwarded-For"])
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		response, err := b.HTTP.Do(request)
		if err != nil {
			return err
		}
		var text bytes.Buffer
		_, err = text.ReadFrom(response.Body)
		_ = response.Body.Close() // it was read
		if err != nil {
			return err
		}
		statuses = append(statuses, fmt.Sprint(response.StatusCode))
		if strings.Contains(response.Header.Get("Location")+text.String(), "//"+evil) {
			found++
		}
	}
	harness.Pause(ctx, 3*time.Second) // a job sends the email
	emails, err := a.newBrowser("203.0.113.22").Get(ctx, "/dev/mail")
	if err != nil {
		return err
	}
	if strings.Contains(string(emails.Body), "//"+evil) {
		found++
	}
	a.add(found == 0, "another host's name in the Host header", "no answer and no email leads there", "found %d times; answers %s",
		found, strings.Join(statuses, ", "))
	return nil
}
