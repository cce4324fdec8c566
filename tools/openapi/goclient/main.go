// Goclient is a partner's program on the client that oapi-codegen makes of the
// API's description: goclient ADDRESS KEY. It creates a session, prints its link,
// waits for a line on its input, and then reads what the customer sent.
package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"log"
	"net/http"
	"os"

	"candor/tools/openapi/goclient/generated"
)

func main() {
	log.SetFlags(0)
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, address, key string) error {
	authorize := func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+key)
		return nil
	}
	client, err := generated.NewClientWithResponses(address, generated.WithRequestEditorFn(authorize))
	if err != nil {
		return err
	}
	created, err := create(ctx, client)
	if err != nil {
		return err
	}
	fmt.Println(created.SessionUrl)
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	return read(ctx, client, created.Id)
}

func create(ctx context.Context, client *generated.ClientWithResponses) (*generated.NewSession, error) {
	var branch, loan, urgent generated.MetadataValue
	if err := branch.FromMetadataValue0("Perth"); err != nil {
		return nil, err
	}
	if err := loan.FromMetadataValue1(7); err != nil {
		return nil, err
	}
	if err := urgent.FromMetadataValue2(true); err != nil {
		return nil, err
	}
	key := "go-1"
	made, err := client.CreateSessionWithResponse(ctx, &generated.CreateSessionParams{IdempotencyKey: &key},
		generated.CreateSessionRequest{
			FormType: "financial_statement", CustomerEmail: "jo@customer.example",
			Metadata: &map[string]generated.MetadataValue{"branch": branch, "loan": loan, "urgent": urgent},
		})
	if err != nil {
		return nil, err
	}
	return made.JSON201, wanted("status of the creation", made.StatusCode(), http.StatusCreated)
}

func read(ctx context.Context, client *generated.ClientWithResponses, id string) error {
	session, err := client.GetSessionWithResponse(ctx, id)
	if err != nil {
		return err
	}
	if err := wanted("session's status", session.JSON200.Status, generated.SessionStatusCompleted); err != nil {
		return err
	}
	data, err := client.GetSessionDataWithResponse(ctx, id)
	if err != nil {
		return err
	}
	if err := wanted("balance", data.JSON200.Data.Assets.BankAccounts[0].Balance, 1_234_567.89); err != nil {
		return err
	}
	for _, document := range data.JSON200.Data.Documents {
		file, err := client.GetSessionDocumentWithResponse(ctx, id, document.Id)
		if err != nil {
			return err
		}
		if err := wanted("document's size", len(file.Body), document.SizeBytes); err != nil {
			return err
		}
	}
	feed, err := client.ListEventsWithResponse(ctx, &generated.ListEventsParams{SessionId: &id})
	if err != nil {
		return err
	}
	completed := 0
	for _, event := range feed.JSON200.Data {
		named, err := event.ValueByDiscriminator()
		if err != nil {
			return err
		}
		if _, ok := named.(generated.SessionCompletedEvent); ok {
			completed++
		}
	}
	if err := wanted("events of the completion", completed, 1); err != nil {
		return err
	}
	again, err := client.CancelSessionWithResponse(ctx, id)
	if err != nil {
		return err
	}
	if err := wanted("error of a cancellation", again.JSON409.Error.Code, generated.ErrorCodeSessionCompleted); err != nil {
		return err
	}
	pdf, err := client.GetSessionPDFWithResponse(ctx, id, nil)
	if err != nil || pdf.StatusCode() == http.StatusAccepted {
		return err
	}
	return wanted("PDF", bytes.HasPrefix(pdf.Body, []byte("%PDF-")), true)
}

func wanted[T comparable](what string, got, want T) error {
	if got != want {
		return fmt.Errorf("%s is %v, want %v", what, got, want)
	}
	return nil
}
