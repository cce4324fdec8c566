package dashboard_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/testkit/harness"
)

// sweptKeys marks the networks that keys were used from, as the alerts' sweep
// does, and returns what it reports.
func sweptKeys(h *harness.Harness) (reported []domain.AlertSubject) {
	h.Helper()
	due, err := h.DB.DueAlerts(h.Context(), h.Clock.Now(), 100)
	h.OK(err)
	for _, one := range due {
		h.OK(h.DB.InTx(h.Context(), func(tx *db.Tx) error {
			subjects, err := tx.TakeAlerted(h.Context(), one.Scope(), one.Kind, h.Clock.Now())
			reported = append(reported, subjects...)
			return err
		}))
	}
	return reported
}

// keyOf is the id of the account's test key.
func keyOf(h *harness.Harness) domain.KeyID {
	h.Helper()
	return harness.QueryOne[domain.KeyID](h,
		`SELECT id FROM api_key WHERE account_id = $1 AND NOT livemode ORDER BY created_at LIMIT 1`, h.Account.AccountID)
}

// TestKeysNetworks: a key's page has the networks that used it, and what it was
// used for; the first network of a key is no news, a later one is reported once.
// Requests with a key that doesn't work are no use of it.
func TestKeysNetworks(t *testing.T) {
	t.Parallel()
	h, log := newLogged(t)
	owner := h.Staff(domain.RoleOwner)
	id := keyOf(h)
	path := "/dashboard/test/keys/" + id.String()
	use := func(address string, times int) {
		t.Helper()
		for range times {
			if status := calls(h, h.Handler, h.Account.TestKey, address); status != http.StatusOK {
				t.Fatalf("from %s: %d", address, status)
			}
		}
		log.Flush(t.Context())
	}
	owner.WantPage(owner.Get(path), http.StatusOK, "Not used yet").LeadsTo("/dashboard/test/requests?key=" + id.String())
	use("192.0.2.1", 3)
	use("192.0.2.77", 2) // of the same network
	if got := sweptKeys(h); got != nil {
		t.Errorf("the first network is reported: %+v", got)
	}
	use("192.0.2.1", 1)
	if got := sweptKeys(h); got != nil {
		t.Errorf("a known network is reported: %+v", got)
	}
	use("[2001:db8:1:2::9]", 1)
	use("[2001:db8:1:3::9]", 1)
	got := sweptKeys(h)
	if len(got) != 1 || got[0].ID != id.String() || got[0].Detail != "2001:db8:1:3::9" ||
		!strings.HasSuffix(got[0].Name, h.Account.TestKey[len(h.Account.TestKey)-4:]) {
		t.Fatalf("reported %+v, want the new network", got)
	}
	if again := sweptKeys(h); again != nil {
		t.Errorf("reported again: %+v", again)
	}
	page := owner.WantPage(owner.Get(path), http.StatusOK, "192.0.2.0/24 192.0.2.1 6", "2001:db8:1::/48", "New",
		"2001:db8:1:3::9 2", "90 days")
	page.LeadsTo(path + "/leaked")
	owner.WantPage(owner.Get("/dashboard/test/keys"), http.StatusOK, "Used from a new network", "2001:db8:1:3::9").
		LeadsTo(path + "/leaked")
	owner.WantPage(owner.Get("/dashboard/live/keys"), http.StatusOK)
	owner.WantPage(owner.Get(path+"/leaked"), http.StatusOK, "in the last 7 days", "Listed sessions 8 requests").
		Offers("Rotate key now", "Delete key now")

	support, stranger := h.Staff(domain.RoleSupport), h.StaffOf(h.NewAccount("other@lender.example", "starter").AccountID,
		domain.RoleOwner)
	for _, one := range []string{path, path + "/leaked"} {
		support.WantPage(support.Get(one), http.StatusForbidden)
		stranger.WantPage(stranger.Get(one), http.StatusNotFound)
		owner.WantPage(owner.Get(strings.Replace(one, "test", "live", 1)), http.StatusNotFound)
	}
	owner.WantPage(owner.Post(path+"/rotate", url.Values{"overlap": {"24h"}}), http.StatusOK, "Copy your API key")
	owner.WantPage(owner.Get("/dashboard/test/keys"), http.StatusOK, "(until 21 Nov)", "(created 20 Nov)")
	h.Clock.Advance(domain.NewNetworkShown)
	owner = h.Staff(domain.RoleOwner)
	if strings.Contains(owner.Get("/dashboard/test/keys").Body.String(), "Used from a new network") {
		t.Error("a network is new for ever")
	}
}

// TestLeakedKeysReads: the page of a leaked key has what it read, and the button that ends it
// at once. The log has what it read under its former name, and not what another key of that
// name did.
func TestLeakedKeysReads(t *testing.T) {
	t.Parallel()
	h, log := newLogged(t)
	owner := h.Owner()
	path := "/dashboard/test/keys/" + keyOf(h).String()
	read := func(key string) string {
		t.Helper()
		id := h.NewSession(h.TestScope(), domain.NewSession{}).ID
		h.Complete(id)
		h.Do(harness.Call{Path: "/sessions/" + id.String() + "/data", Key: key}).WantStatus(http.StatusOK)
		return id.String()
	}
	leaked := read(h.Account.TestKey)
	owner.WantRedirect(owner.Post(path+"/change", url.Values{"name": {"Loans"}, "access": {"full"}}), path)
	renamed := read(h.Account.TestKey)
	log.Flush(t.Context())
	form, values := owner.WantPage(owner.Get(path+"/leaked"), http.StatusOK, "Read customers’ data 2 requests, 2 sessions").
		Pressed("Rotate key now")
	rotated := owner.Post(form.Action, values)
	owner.WantPage(rotated, http.StatusOK, "Copy your API key", "The old key has stopped working.")
	if status := calls(h, h.Handler, h.Account.TestKey, "203.0.113.9"); status != http.StatusUnauthorized {
		t.Errorf("the leaked key: %d, want 401", status)
	}
	others := read(keyOn(h, rotated))
	reads := owner.WantPage(owner.Get(path+"/leaked"), http.StatusOK, "This key has already stopped working").
		Link("Show reads of customers’ data in the audit log")
	folded := owner.WantPage(owner.Get(reads), http.StatusOK, "Loans").Hides(others).Link("2 times")
	owner.WantPage(owner.Get(folded), http.StatusOK, leaked, renamed, "Loans").Hides(others)
}

// TestDormantKey: the first network that uses a key after a long pause is reported, and
// the older ones are deleted but for the last.
func TestDormantKey(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	id := keyOf(h)
	use := func(address string) {
		t.Helper()
		h.Clock.Advance(time.Second)
		h.OK(h.DB.InsertAPIRequests(h.Context(), []domain.APIRequest{{
			ID: domain.NewRequestID(h.Clock.Now()), AccountID: h.Account.AccountID, KeyID: id, Method: "GET", Route: "/v1/sessions",
			Status: http.StatusOK, Address: address,
		}}))
	}
	retained := func() (networks []string) {
		t.Helper()
		h.Clock.Advance(domain.KeyNetworkRetention + 24*time.Hour)
		_, err := h.DB.DeleteKeyNetworks(h.Context(), h.Clock.Now().Add(-domain.KeyNetworkRetention), 100)
		h.OK(err)
		h.OK(h.DB.Raw().SelectContext(h.Context(), &networks, `SELECT network FROM api_key_network ORDER BY network`))
		return networks
	}
	use("198.51.100.1")
	use("192.0.2.1")
	sweptKeys(h)
	if got := retained(); !slices.Equal(got, []string{"192.0.2.0/24"}) {
		t.Errorf("kept %q, want the last network", got)
	}
	use("203.0.113.9")
	if got := sweptKeys(h); len(got) != 1 || got[0].Detail != "203.0.113.9" {
		t.Errorf("reported %+v, want the stranger's network", got)
	}
	h.OK(h.DB.InTx(h.Context(), func(tx *db.Tx) error { return tx.DeleteAPIKey(h.Context(), id, h.Clock.Now()) }))
	if got := retained(); len(got) != 0 {
		t.Errorf("kept %q of a deleted key", got)
	}
}
