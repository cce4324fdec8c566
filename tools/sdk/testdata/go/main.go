// Flow is a partner's program on the SDK: flow ADDRESS KEY SECRET. It creates a
// session, prints its link, and completes it after a line on its input. It prints the
// ids of its sessions at the end. With --verify it says which webhooks of its input
// fit.
package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"time"

	"candor.example/candor-go"
)

func main() {
	log.SetFlags(0)
	if os.Args[1] == "--verify" {
		verify()
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	flow(ctx, os.Args[1], os.Args[2], os.Args[3])
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Panic(err)
	}
	return value
}

func want[T comparable](what string, got, wanted T) {
	if got != wanted {
		log.Panicf("%s is %v, want %v", what, got, wanted)
	}
}

func refused(what string, err error, code candor.ErrorCode) *candor.Error {
	var e *candor.Error
	if !errors.As(err, &e) || e.Code != code || e.RequestID == "" || !strings.HasSuffix(e.DocURL, "#error-"+string(code)) {
		log.Panicf("%s: %v", what, err)
	}
	return e
}

func sum(file *candor.File) string {
	defer file.Close()
	hash := sha256.New()
	kept := must(os.Create(file.Name))
	defer kept.Close()
	want("size of "+file.Name, must(io.Copy(io.MultiWriter(kept, hash), file)), file.Size)
	return hex.EncodeToString(hash.Sum(nil))
}

func verify() {
	var cases []struct {
		Secrets []string
		Headers http.Header
		Body    []byte
	}
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		log.Panic(err)
	}
	out := []bool{}
	for _, one := range cases {
		webhooks, err := candor.NewWebhooks(one.Secrets...)
		if err == nil {
			_, err = webhooks.Verify(one.Headers, one.Body)
		}
		out = append(out, err == nil)
	}
	fmt.Println(string(must(json.Marshal(out))))
}

func flow(ctx context.Context, address, key, secret string) {
	client := candor.New(address, key)
	client.Backoff = 10 * time.Millisecond
	webhooks := must(candor.NewWebhooks(secret))
	received := make(chan *candor.Webhook, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		received <- must(webhooks.Read(r))
	}))
	defer receiver.Close()

	session := must(client.CreateSession(ctx, candor.CreateSessionRequest{
		FormType: "financial_statement", CustomerEmail: "go@customer.example", WebhookURL: receiver.URL,
		Metadata: map[string]any{"loan": 7, "urgent": true},
		Prefill: &candor.Prefill{Income: &candor.PrefillIncome{
			EmploymentIncome: &candor.PrefillIncomeEmploymentIncome{GrossSalary: candor.Ptr(candor.Cents(8500050))},
		}},
	}))
	want("metadata", fmt.Sprint(session.Metadata), "map[loan:7 urgent:true]")
	fmt.Println(session.SessionURL)
	must(bufio.NewReader(os.Stdin).ReadString('\n'))
	must(client.AdvanceSession(ctx, session.ID, candor.AdvanceSessionRequest{
		To: "completed", Data: &candor.Prefill{Assets: &candor.PrefillAssets{
			BankAccounts: []candor.PrefillAssetsBankAccounts{{Institution: "Harbour Bank", AccountType: "savings",
				Balance: candor.Ptr(must(candor.ParseCents("999999999999.99")))}},
		}},
	}))

	var pdfHash string
	for event, err := range client.Events(ctx, candor.ListEventsParams{}) {
		must(event, err)
		if event.Event == candor.EventSessionPDFReady && *event.SessionID == session.ID {
			pdfHash = *event.PDFSHA256
			break
		}
	}
	data := must(client.GetSessionData(ctx, session.ID)).Data
	want("balance", data.Assets.BankAccounts[0].Balance.String(), "999999999999.99")
	want("salary", data.Income.EmploymentIncome.GrossSalary, 8500050)
	want("PDF", sum(must(client.GetSessionPDF(ctx, session.ID, candor.GetSessionPDFParams{Download: true}))), pdfHash)
	want("documents", len(data.Documents), 1)
	for _, one := range data.Documents {
		want("document", sum(must(client.GetSessionDocument(ctx, session.ID, one.ID))), one.SHA256)
	}
	wantWebhooks(received, data.Summary.NetWorth)

	for _, err := range client.Events(ctx, candor.ListEventsParams{After: 7777}) {
		var gap *candor.GapError
		want("a gap in the events", errors.As(err, &gap) && *gap == candor.GapError{After: 7777, Oldest: 9000}, true)
	}

	made := []string{session.ID}
	create := func() {
		made = append(made, must(client.CreateSession(ctx, candor.CreateSessionRequest{FormType: "financial_statement",
			CustomerEmail: "go@customer.example"})).ID)
	}
	for range 3 {
		create()
	}
	var listed []string
	for one, err := range client.AllSessions(ctx, candor.ListSessionsParams{PerPage: 2, CustomerEmail: "go@customer.example"}) {
		if listed = append(listed, must(one, err).ID); len(listed) == 1 {
			create() // moves what the next page has
		}
	}
	slices.Reverse(listed)
	want("the list", strings.Join(listed, " "), strings.Join(made[:4], " "))
	wantErrors(ctx, client, made[1])
	want("usage", must(client.GetUsage(ctx, candor.GetUsageParams{Period: "current_month"})).Sessions.TotalCreated >= 5, true)
	again := func() string {
		return must(client.CreateTestEvent(ctx, candor.CreateTestEventRequest{Type: "billing.invoice_paid"},
			candor.IdempotencyKey("application 7"))).ID
	}
	want("a repeated call", again(), again())
	fmt.Println(string(must(json.Marshal(made))))
}

func wantWebhooks(received chan *candor.Webhook, netWorth candor.Cents) {
	completed := false
	for event := range received {
		switch data := must(event.Payload()).(type) {
		case *candor.CompletedPayload:
			completed = event.DeliveryID != ""
			want("net worth of the webhook", data.Summary.NetWorth, netWorth)
		case *candor.PDFReadyPayload:
			want("the completion came", completed, true)
			return
		}
	}
}

func wantErrors(ctx context.Context, client *candor.Client, id string) {
	_, err := client.GetSession(ctx, "sess_00000000000000000000000000")
	refused("an unknown session", err, candor.CodeSessionNotFound)
	_, err = client.CreateSession(ctx, candor.CreateSessionRequest{FormType: "financial_statement", CustomerEmail: "x"})
	want("field", refused("an address", err, candor.CodeInvalidEmail).Fields[0].Field, "customer_email")
	want("cancelled", must(client.CancelSession(ctx, id)).Status, "cancelled")
	_, err = client.CancelSession(ctx, id)
	refused("a second cancellation", err, candor.CodeSessionCancelled)
	if _, err = client.GetSession(ctx, ".."); err == nil || errors.As(err, new(*candor.Error)) {
		log.Panicf("an id that is none: %v", err)
	}
}
