package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"candor/internal/statement"
	"candor/tools/harness"
)

const (
	placeUploads = 100 // of another account's customers, beside an attack and before it
	placeSize    = 2 << 20
	placeBegins  = 3 * time.Second // until the attack has what places it gets
)

// places holds uploads open, to keep another account's customers from uploading.
func (a *attack) places(ctx context.Context) error {
	var accounts []harness.Account
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
		accounts []harness.Account
		links    int // of each account
		rate     int // bytes a second of each link
	}{
		{"an account that signed up uploads over 32 links with 0.5 MB/s in all", accounts[:1], 32, 17 << 10},
		{"the same over 60 links that send almost nothing", accounts[:1], 60, 10},
		{"eight accounts that signed up, 12 links each, 64 KB/s each", accounts, 12, 64 << 10},
		{"an approved account uploads over 60 links, 17 KB/s each", []harness.Account{a.Account}, 60, 17 << 10},
	} {
		if err := a.holdPlaces(ctx, hold.what, hold.accounts, hold.links, hold.rate); err != nil {
			return err
		}
	}
	return nil
}

func (a *attack) holdPlaces(ctx context.Context, what string, accounts []harness.Account, links, rate int) error {
	idle, refused, err := a.uploadAsVictim(ctx)
	if err != nil {
		return err
	}
	if refused > 0 {
		return fmt.Errorf("%d uploads were refused before the attack", refused)
	}
	holding, cancel := context.WithCancel(ctx)
	defer cancel()
	o := &outcome{statuses: map[int]int{}}
	var work sync.WaitGroup
	for i, account := range accounts {
		for j := range links {
			c, err := a.customerOf(ctx, account, fmt.Sprintf("198.51.%d.%d", 110+i, j+1))
			if err != nil {
				return err
			}
			c.rate = rate
			work.Go(func() {
				for holding.Err() == nil {
					got, _ := c.attach(holding, c.path(statement.DocumentsSection), "other", "slow.pdf", pdfHead, uploadSize)
					if holding.Err() == nil {
						o.count(got.status)
						pause(holding, 100*time.Millisecond)
					}
				}
			})
		}
	}
	pause(ctx, placeBegins)
	beside, refused, err := a.uploadAsVictim(ctx)
	cancel()
	work.Wait()
	if err != nil {
		return err
	}
	a.add(beside <= 2*idle && refused == 0, what, "another account's uploads: p99 within 2 × idle, none refused",
		"p99 %s, idle %s (%.1f ×), %d of %d refused", round(beside), round(idle), float64(beside)/float64(idle), refused, placeUploads)
	return nil
}

// uploadAsVictim uploads files of another account's customers, one after the other, and
// returns the 99th percentile of the times of those that were taken.
func (a *attack) uploadAsVictim(ctx context.Context) (p99 time.Duration, refused int, err error) {
	var times []time.Duration
	var c *customer
	for i := range placeUploads {
		if i%statement.MaxDocuments == 0 {
			if c, err = a.customerOf(ctx, a.victim, victimNetwork); err != nil {
				return 0, 0, err
			}
		}
		began := time.Now()
		got, err := c.attach(ctx, c.path(statement.DocumentsSection), "other", "photo.pdf", fmt.Sprintf("%s%d", pdfHead, i), placeSize)
		if err != nil || got.status != http.StatusSeeOther {
			refused++
			continue
		}
		times = append(times, time.Since(began))
	}
	if len(times) == 0 {
		return time.Minute, refused, nil
	}
	slices.Sort(times)
	return times[(len(times)-1)*99/100], refused, nil
}
