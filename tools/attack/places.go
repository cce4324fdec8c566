package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"candor/internal/statement"
	"candor/internal/testkit/client"
	"candor/tools/harness"
)

const (
	placeRounds = 5
	placeSize   = 2 << 20         // of another account's uploads
	placeBegins = 2 * time.Second // until the attack has what places it gets
)

// places holds uploads open, to keep another account's customers from uploading.
func (a *attack) places(ctx context.Context) error {
	var accounts []client.Account
	for i := range 8 {
		email := fmt.Sprintf("anyone%d@example.com", i)
		account, err := a.CreateAccount(ctx, fmt.Sprintf("Anyone %d", i), email)
		if err != nil {
			return err
		}
		// As an account that signed up (D52).
		if _, err := a.DB.Raw().ExecContext(ctx, `UPDATE account SET approved_at = NULL WHERE billing_email = $1`, email); err != nil {
			return err
		}
		accounts = append(accounts, account)
	}
	for _, hold := range []struct {
		what     string
		accounts []client.Account
		links    int // of each account
		rate     int // bytes a second of each link
	}{
		{"an account that signed up uploads over 32 links with 0.5 MB/s in all", accounts[:1], 32, 17 << 10},
		{"the same over 60 links that send almost nothing", accounts[:1], 60, 10},
		{"eight accounts that signed up, 12 links each, 64 KB/s each", accounts, 12, 64 << 10},
		{"an approved account uploads over 60 links, 17 KB/s each", []client.Account{a.Account}, 60, 17 << 10},
	} {
		if err := a.holdPlaces(ctx, hold.what, hold.accounts, hold.links, hold.rate); err != nil {
			return err
		}
	}
	return nil
}

// holdPlaces measures by turns without and with the attack, because a machine's speed
// changes within seconds.
func (a *attack) holdPlaces(ctx context.Context, what string, accounts []client.Account, links, rate int) error {
	var holders []*customer
	for i, account := range accounts {
		for j := range links {
			c, err := a.customerOf(ctx, account, fmt.Sprintf("198.51.%d.%d", 110+i, j+1))
			if err != nil {
				return err
			}
			c.rate = rate
			holders = append(holders, c)
		}
	}
	var idle, beside []time.Duration
	for range placeRounds {
		quiet, err := a.uploadAsVictim(ctx)
		if err != nil {
			return err
		}
		end := holdUploads(ctx, holders)
		attacked, err := a.uploadAsVictim(ctx)
		end()
		if err != nil {
			return err
		}
		idle, beside = append(idle, quiet...), append(beside, attacked...)
	}
	median, usual, refused := percentile(beside, 50), percentile(idle, 50), placeRounds*statement.MaxDocuments-len(beside)
	p99, limit := percentile(beside, 99), 2*percentile(idle, 99)
	a.add(p99 <= limit && refused == 0 && len(idle) == placeRounds*statement.MaxDocuments, what,
		"another account's uploads: p99 within 2 × idle, none refused",
		"p99 %s, idle %s (%.1f ×); median %s, idle %s; %d of %d refused",
		round(p99), round(limit/2), 2*float64(p99)/float64(limit), round(median), round(usual), refused, refused+len(beside))
	return nil
}

// holdUploads uploads over each link, again and again, until end is called. It returns
// once the uploads have the places that they get.
func holdUploads(ctx context.Context, holders []*customer) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan *outcome)
	go func() { ended <- uploadUntil(ctx, holders, 100*time.Millisecond) }()
	harness.Pause(ctx, placeBegins)
	return func() {
		cancel()
		<-ended
	}
}

// uploadUntil uploads over each link, with a pause between two uploads, until ctx ends.
func uploadUntil(ctx context.Context, customers []*customer, between time.Duration) *outcome {
	o := &outcome{statuses: map[int]int{}}
	var work sync.WaitGroup
	for _, c := range customers {
		work.Go(func() {
			for ; ctx.Err() == nil; harness.Pause(ctx, between) {
				got, _ := c.attach(ctx, c.path(statement.DocumentsSection), "other", "slow.pdf", pdfHead, uploadSize)
				o.count(got.Status)
			}
		})
	}
	work.Wait()
	return o
}

// uploadAsVictim uploads as many files of another account's customer as a session takes,
// one after the other, and returns the times of those that were taken.
func (a *attack) uploadAsVictim(ctx context.Context) (times []time.Duration, err error) {
	c, err := a.customerOf(ctx, a.victim, victimNetwork)
	if err != nil {
		return nil, err
	}
	for i := range statement.MaxDocuments {
		began := time.Now()
		got, err := c.attach(ctx, c.path(statement.DocumentsSection), "other", "photo.pdf", fmt.Sprintf("%s%d", pdfHead, i), placeSize)
		if err == nil && got.Status == http.StatusSeeOther {
			times = append(times, time.Since(began))
		}
	}
	return times, nil
}

// percentile sorts the times. It is a minute if there are none.
func percentile(times []time.Duration, n int) time.Duration {
	if len(times) == 0 {
		return time.Minute
	}
	slices.Sort(times)
	return times[(len(times)-1)*n/100]
}
