// Ogen is a partner's program on the client that ogen makes of the API's description:
// ogen ADDRESS KEY. It creates a session, prints its link, waits for a line on its
// input, and then reads what the customer sent.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"

	"candor/tools/openapi/goclient/ogen/generated"
)

func main() {
	log.SetFlags(0)
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

// key is an API key.
type key string

func (k key) ApiKey(context.Context, generated.OperationName) (generated.ApiKey, error) {
	return generated.ApiKey{Token: string(k)}, nil
}

func run(ctx context.Context, address, apiKey string) error {
	client, err := generated.NewClient(address, key(apiKey))
	if err != nil {
		return err
	}
	created, err := answer[*generated.NewSessionHeaders](client.CreateSession(ctx, &generated.CreateSessionRequest{
		FormType: generated.CreateSessionRequestFormTypeFinancialStatement, CustomerEmail: "jo@customer.example",
		Metadata: generated.NewOptNilCreateSessionRequestMetadata(generated.CreateSessionRequestMetadata{
			"branch": generated.NewStringMetadataValue("Perth"), "loan": generated.NewFloat64MetadataValue(7)}),
	}, generated.CreateSessionParams{IdempotencyKey: generated.NewOptString("ogen-1")}))
	if err != nil {
		return err
	}
	fmt.Println(created.Response.SessionURL.String())
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	return read(ctx, client, created.Response.ID)
}

func read(ctx context.Context, client *generated.Client, id string) error {
	session, err := answer[*generated.SessionHeaders](client.GetSession(ctx, generated.GetSessionParams{ID: id}))
	if err != nil {
		return err
	}
	data, err := answer[*generated.SubmittedDataHeaders](client.GetSessionData(ctx, generated.GetSessionDataParams{ID: id}))
	if err != nil {
		return err
	}
	feed, err := answer[*generated.EventListHeaders](client.ListEvents(ctx,
		generated.ListEventsParams{SessionID: generated.NewOptString(id), Limit: generated.NewOptInt(100)}))
	if err != nil {
		return err
	}
	assets, total := data.Response.Data.Assets, 0.0
	for _, event := range feed.Response.Data {
		if completed, ok := event.GetSessionCompletedEvent(); ok {
			total = completed.Data.CompletedPayload.Summary.TotalAssets
		}
	}
	switch {
	case session.Response.Status != generated.SessionStatusCompleted:
		return fmt.Errorf("the session is %s", session.Response.Status)
	case assets.BankAccounts[0].Balance != 1_234_567.89:
		return fmt.Errorf("the balance is %v", assets.BankAccounts[0].Balance)
	case total != assets.TotalAssets:
		return fmt.Errorf("the total in the event is %v, want %v", total, assets.TotalAssets)
	}
	return nil
}

// answer is the answer to a call, if it is the one for a success.
func answer[T any](got any, err error) (T, error) {
	out, ok := got.(T)
	if err == nil && !ok {
		err = fmt.Errorf("the answer is %T: %+v", got, got)
	}
	return out, err
}
