package main

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/statement"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit/client"
	"candor/internal/testkit/proc"
)

const (
	pdfHead       = "%PDF-1.7\n"
	uploadSize    = 9 << 20
	manyUploads   = 60
	manyRefused   = 100
	manyDrafts    = 300
	mostMemory    = 300 << 20
	mostLeft      = 20 << 20
	mostDraft     = 5 << 20
	mostRemoved   = 55 << 20
	manyUnended   = 1500
	unendedWithin = 60 * time.Second
)

// uploads sends 60 files at the same time, each over another link.
func (a *attack) uploads(ctx context.Context) error {
	customers := make([]*customer, manyUploads)
	for i := range customers {
		var err error
		if customers[i], err = a.newCustomer(ctx, fmt.Sprintf("198.51.101.%d", i+1)); err != nil {
			return err
		}
	}
	if err := a.forgetPeak(); err != nil {
		return err
	}
	o := &outcome{statuses: map[int]int{}}
	var work sync.WaitGroup
	for _, c := range customers {
		work.Go(func() {
			got, _ := c.attach(ctx, c.path(statement.DocumentsSection), "bank_statement", "statement.pdf", pdfHead, uploadSize)
			o.count(got.Status) // 0 if the connection broke
		})
	}
	work.Wait()
	peak, err := proc.Memory(a.Server.Process.Pid, "VmHWM")
	if err != nil {
		return err
	}
	a.add(peak < mostMemory && o.statuses[0] == 0, fmt.Sprintf("%d uploads of 9 MB at the same time, each over another link",
		manyUploads),
		"less than 300 MB of memory; each is answered", "%d MB at the most; %s", peak>>20, o)
	return nil
}

// refusedUploads fills a session with documents and then sends refused files: of an
// unknown type, without a category, and one too many.
func (a *attack) refusedUploads(ctx context.Context) error {
	c, err := a.newCustomer(ctx, "198.51.101.201")
	if err != nil {
		return err
	}
	for range statement.MaxDocuments {
		if got, err := c.attach(ctx, c.path(statement.DocumentsSection), "other", "small.pdf", pdfHead, 1000); err != nil ||
			got.Status != http.StatusSeeOther {
			return unexpected("a small upload", got, err)
		}
	}
	before, err := a.stored(ctx)
	if err != nil {
		return err
	}
	o := &outcome{statuses: map[int]int{}}
	for i := range manyRefused {
		category, head := "bank_statement", pdfHead
		switch i % 3 {
		case 1:
			category = ""
		case 2:
			head = "neither a document nor a picture"
		}
		got, _ := c.attach(ctx, c.path(statement.DocumentsSection), category, "refused.pdf", head, uploadSize)
		o.count(got.Status)
	}
	after, err := a.stored(ctx)
	if err != nil {
		return err
	}
	a.add(after-before < mostLeft, fmt.Sprintf("%d uploads of 9 MB that are refused, by one link", manyRefused),
		"less than 20 MB is left", "%d MB are left; %s", (after-before)>>20, o)
	return nil
}

// removedUploads adds a file and removes it, by one link, until no more is taken.
func (a *attack) removedUploads(ctx context.Context) error {
	c, err := a.newCustomer(ctx, "198.51.101.208")
	if err != nil {
		return err
	}
	before, err := a.stored(ctx)
	if err != nil {
		return err
	}
	removals := 0
	for ctx.Err() == nil {
		got, err := c.attach(ctx, c.path(statement.DocumentsSection), "other", "again.pdf", pdfHead, uploadSize)
		if err != nil || got.Status != http.StatusSeeOther {
			break
		}
		page, err := c.Get(ctx, c.path(statement.DocumentsSection))
		document := removeButton.FindString(string(page.Body))
		if err != nil || document == "" {
			return unexpected("the page with the document", page, err)
		}
		if got, err := c.Post(ctx, c.path(statement.DocumentsSection), url.Values{"action": {document}}); err != nil ||
			got.Status != http.StatusSeeOther {
			return unexpected("the removal", got, err)
		}
		removals++
	}
	after, err := a.stored(ctx)
	if err != nil {
		return err
	}
	a.add(removals > 40 && after-before < mostRemoved, fmt.Sprintf("a file of 9 MB added and removed %d times, by one link",
		removals),
		"at most 55 MB are left", "%d MB are left", (after-before)>>20)
	return nil
}

var removeButton = regexp.MustCompile(`remove:doc_[a-z0-9]+`)

// drafts posts the longest form that is taken, again and again. It is refused, and stored as
// typed (D85), in place of the draft before.
func (a *attack) drafts(ctx context.Context) error {
	c, err := a.newCustomer(ctx, "198.51.101.202")
	if err != nil {
		return err
	}
	before, err := a.stored(ctx)
	if err != nil {
		return err
	}
	const typed = "real_property.0.description"
	values := url.Values{"has": {"real_property"}, typed: {""}}
	text := make([]byte, web.MaxFormBytes-len(values.Encode()))
	o := &outcome{statuses: map[int]int{}}
	for began := time.Now(); o.total < manyDrafts && time.Since(began) < a.span; {
		for i := range text { // another one, which PostgreSQL can't compress
			text[i] = byte('a' + rand.IntN(26))
		}
		values.Set(typed, string(text))
		got, _ := c.Post(ctx, c.path(statement.AssetsSection), values)
		o.count(got.Status)
	}
	session, err := domain.ParseSessionID(c.id)
	if err != nil {
		return err
	}
	var left int64
	if err := a.DB.Raw().GetContext(ctx, &left,
		`SELECT coalesce(sum(octet_length(draft)), 0) FROM section WHERE session_id = $1`, session); err != nil {
		return err
	}
	after, err := a.stored(ctx)
	if err != nil {
		return err
	}
	a.add(o.statuses[http.StatusUnprocessableEntity] > 1 && left > 0 && left < mostDraft,
		fmt.Sprintf("%d drafts of 4 MB in %s, by one link", o.total, a.span), "one is left",
		"%.1f MB are left; with dead rows the database grew by %d MB; %s", float64(left)/(1<<20), (after-before)>>20, o)
	return nil
}

// stored is how many bytes the service keeps, in the database and in the
// folder of documents.
func (a *attack) stored(ctx context.Context) (bytes int64, err error) {
	if err := a.DB.Raw().GetContext(ctx, &bytes, `SELECT pg_database_size(current_database())`); err != nil {
		return 0, err
	}
	err = filepath.WalkDir(a.DataDir(), func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	return bytes, err
}

// forgetPeak sets the service's peak of memory to what it uses now.
func (a *attack) forgetPeak() error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", a.Server.Process.Pid), []byte("5"), 0)
}

// unfinished opens connections that never finish their request.
func (a *attack) unfinished(ctx context.Context) error {
	a.measureIdle(ctx)
	const form = "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100000\r\n\r\nemail="
	heads := []string{
		"POST /dashboard/sign-in HTTP/1.1\r\nHost: " + a.Addr + "\r\n" + form,
		"POST /v1/sessions HTTP/1.1\r\nHost: " + a.Addr + "\r\nAuthorization: Bearer " + a.Account.TestKey +
			"\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{",
		"POST /v1/sessions HTTP/1.1\r\nHost: " + a.Addr + "\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{",
		"POST /dashboard/sign-in HTTP/1.1\r\nHost: " + a.Addr + "\r\nX-Unfinished: ",
	}
	ctx, cancel := context.WithTimeout(ctx, unendedWithin+2*time.Second)
	defer cancel()
	seen := make(chan *probe)
	go func() { seen <- a.watch(ctx) }()
	ended := make(chan struct{}, manyUnended)
	began, opened := time.Now(), 0
	var clients []*client.Conn
	defer func() {
		for _, c := range clients {
			c.Close()
		}
	}()
	for i := range manyUnended {
		c, err := client.Dial(ctx, a.Addr)
		if err != nil {
			continue // the service may refuse it
		}
		opened++
		clients = append(clients, c)
		go func() {
			defer func() { ended <- struct{}{} }()
			if _, err := c.Conn.Write([]byte(heads[i%len(heads)])); err != nil {
				return
			}
			buffer := make([]byte, 4096)
			for {
				if _, err := c.Conn.Read(buffer); err != nil {
					return
				}
			}
		}()
	}
	left, last := opened, time.Since(began)
	for left > 0 && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-ended:
			left--
			last = time.Since(began)
		}
	}
	cancel()
	text, _ := a.judge(<-seen)
	a.add(left == 0, fmt.Sprintf("%d connections with an unfinished request", opened), "all are gone after 60 s",
		"%d are left, the last one gone after %s; another account during it: %s", left, last.Round(time.Second), text)
	return nil
}

// secondBrowser posts the declaration again from another browser with the link. It
// must not get the PDF.
func (a *attack) secondBrowser(ctx context.Context) error {
	owner, err := a.newCustomer(ctx, "198.51.101.203")
	if err != nil {
		return err
	}
	other := &customer{a.newBrowser("198.51.101.204"), owner.id, owner.link}
	if err := other.open(ctx); err != nil {
		return err
	}
	if err := owner.fill(ctx, func(string, url.Values) {}, statement.SectionNames[:]...); err != nil {
		return err
	}
	again, err := other.Post(ctx, other.path(statement.DeclarationSection), statementtest.Values(statement.DeclarationSection))
	if err != nil {
		return err
	}
	own, err := owner.awaitPDF(ctx)
	if err != nil {
		return err
	}
	stolen, err := other.Get(ctx, other.path("pdf"))
	if err != nil {
		return err
	}
	a.add(own.Status == http.StatusOK && stolen.Status != http.StatusOK,
		"another browser with the link posts the declaration within a minute",
		"it gets no PDF, the browser that signed does", "its POST gets %d, its PDF %d; the signer's PDF %d", again.Status,
		stolen.Status, own.Status)
	return nil
}
