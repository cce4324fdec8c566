package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/sample"
	"candor/internal/service/accounts"
	"candor/internal/service/keys"
	"candor/internal/service/staff/team"
)

const (
	partnerName   = "Harbour Lending"
	officeAddress = "203.0.113.10"
)

// office is the partner's people and what they set up.
type office struct {
	*Services
	at      func(domain.Clock) *Services
	clock   *clock
	now     time.Time
	opened  time.Time // the account was
	account domain.AccountID
	logo    []byte
	team    []domain.Staff // owner, developer, support, finance
	keys    map[string]*domain.Principal
}

// member is one of the team, and when they joined.
type member struct {
	name, email string
	role        domain.Role
	mayDownload bool
	since       time.Duration
}

var colleagues = []member{
	{"Mia Nguyen", "mia.nguyen@harbourlending.example", domain.RoleDeveloper, false, 178 * 24 * time.Hour},
	{"Sam Okafor", "sam.okafor@harbourlending.example", domain.RoleSupport, true, 151 * 24 * time.Hour},
	{"Priya Raman", "priya.raman@harbourlending.example", domain.RoleFinance, false, 88 * 24 * time.Hour},
}

// ownerEmail is by whose address the partner is known.
const ownerEmail = "olivia.hart@harbourlending.example"

// open opens the account some months ago.
func open(ctx context.Context, at func(domain.Clock) *Services, now time.Time) (*office, error) {
	o := &office{at: at, clock: new(clock), now: now, keys: map[string]*domain.Principal{}}
	o.Services = at(o.clock.now)
	o.past(180 * 24 * time.Hour)
	o.opened = o.clock.at
	created, err := o.Accounts.Create(ctx, accounts.Params{Name: partnerName, Email: ownerEmail, Plan: "professional"},
		domain.Actor{Kind: domain.ActorOperator, ID: "command", Name: "operator"})
	if _, refused := errors.AsType[*domain.Error](err); refused {
		return nil, ErrSeeded
	}
	if err != nil {
		return nil, err
	}
	o.account = created.AccountID
	return o, nil
}

// furnish gives the account its team, settings and keys.
func (o *office) furnish(ctx context.Context) error {
	for _, set := range []func(context.Context) error{o.join, o.setUp, o.makeKeys} {
		if err := set(ctx); err != nil {
			return fmt.Errorf("demo: furnish an account: %w", err)
		}
	}
	return nil
}

// past sets the clock that long back, in working hours.
func (o *office) past(ago time.Duration) {
	day := o.now.Add(-ago).In(local)
	at := time.Date(day.Year(), day.Month(), day.Day(), 10, 12, 40, 0, local)
	if at.After(o.now) {
		at = o.now.Add(-ago)
	}
	o.clock.at = at.UTC()
}

// actor is one of the team at work.
func (o *office) actor(n int) domain.Actor {
	s := o.team[n]
	return domain.Actor{Kind: domain.ActorStaff, ID: s.ID.String(), Name: s.Email, Address: officeAddress, Staff: &s}
}

// reader is the key that fetches what was submitted.
func (o *office) reader(live bool) *domain.Principal {
	if live {
		return o.keys["Loan origination"]
	}
	return o.keys["Staging"]
}

// join brings the team together. The owner takes over the password that the
// others chose.
func (o *office) join(ctx context.Context) error {
	owner, err := o.DB.StaffByEmail(ctx, ownerEmail)
	if err != nil {
		return err
	}
	owner.Name = "Olivia Hart"
	o.team = []domain.Staff{owner.Staff}
	from := domain.Visitor{UserAgent: sample.Safari, IPAddress: officeAddress}
	for _, c := range colleagues {
		o.past(c.since)
		invited, err := o.Team.Invite(ctx, o.account, o.actor(0), team.InvitationParams{Email: c.email, Role: c.role,
			MayDownload: c.mayDownload})
		if err != nil {
			return err
		}
		token, hash := domain.NewToken()
		if err := o.DB.SetInvitationToken(ctx, invited.ID, hash); err != nil {
			return err
		}
		o.clock.at = o.clock.at.Add(3 * time.Hour)
		if _, err := o.Auth.AcceptInvitation(ctx, token, c.name, Password, from); err != nil {
			return err
		}
		staff, err := o.DB.StaffByEmail(ctx, c.email)
		if err != nil {
			return err
		}
		o.team = append(o.team, staff.Staff)
		owner.Hash = staff.Hash
	}
	return o.DB.InTx(ctx, func(tx *db.Tx) error {
		if err := tx.SetStaffName(ctx, owner.ID, owner.Name); err != nil {
			return err
		}
		return tx.SetPasswordHash(ctx, owner.ID, owner.Hash)
	})
}

// setUp makes the settings.
func (o *office) setUp(ctx context.Context) error {
	o.past(177 * 24 * time.Hour)
	drawn, err := logo()
	if err != nil {
		return err
	}
	if err := o.Accounts.SetLogo(ctx, o.account, o.actor(0), bytes.NewReader(drawn)); err != nil {
		return err
	}
	account, err := o.Accounts.Get(ctx, o.account)
	if err != nil {
		return err
	}
	if o.logo, err = o.Accounts.Logo(ctx, *account.LogoName); err != nil {
		return err
	}
	err = o.Accounts.ChangeSettings(ctx, o.account, o.actor(0), func(s *accounts.Settings) {
		s.Name, s.HelpEmail, s.HelpPhone, s.BrandColour = partnerName, "help@harbourlending.example", "02 5550 0114", "123b5d"
		s.DefaultExpiresInDays = 14
	})
	if err != nil {
		return err
	}
	o.past(176 * 24 * time.Hour)
	for live, url := range map[bool]string{false: stagingURL, true: mainURL} {
		if err := o.Webhooks.SetDefaultURL(ctx, domain.Scope{AccountID: o.account, Livemode: live}, o.actor(1), url); err != nil {
			return err
		}
	}
	return nil
}

// makeKeys makes the API keys, and does away with the first ones.
func (o *office) makeKeys(ctx context.Context) error {
	soon := o.now.Add(6 * 24 * time.Hour)
	made := []struct {
		name   string
		live   bool
		ago    time.Duration
		params keys.Params
	}{
		{"Staging", false, 175 * 24 * time.Hour, keys.Params{}},
		{"Mia’s laptop", false, 93 * 24 * time.Hour, keys.Params{ExpiresAt: &soon}},
		{"Loan origination", true, 170 * 24 * time.Hour, keys.Params{Networks: "203.0.113.0/24"}},
		{"Broker portal", true, 96 * 24 * time.Hour, keys.Params{
			Permissions: domain.Permissions{domain.SessionsRead, domain.SessionsWrite}, ExpiresAt: &soon,
		}},
		{"Reporting", true, 66 * 24 * time.Hour, keys.Params{
			Permissions: domain.Permissions{domain.SessionsRead, domain.BillingRead},
		}},
	}
	for _, k := range made {
		o.past(k.ago)
		scope := domain.Scope{AccountID: o.account, Livemode: k.live}
		k.params.Name = k.name
		maker := 0
		if k.name == "Mia’s laptop" {
			maker = 1
		}
		key, _, err := o.Keys.Create(ctx, scope, o.actor(maker), k.params)
		if err != nil {
			return err
		}
		o.keys[k.name] = &domain.Principal{Scope: scope, KeyID: key.ID, KeyName: k.name}
	}
	for _, live := range []bool{false, true} {
		scope := domain.Scope{AccountID: o.account, Livemode: live}
		o.past(168 * 24 * time.Hour)
		listed, err := o.Keys.List(ctx, scope)
		if err != nil {
			return err
		}
		for _, k := range listed {
			if k.Name != "First key" {
				continue
			}
			if err := o.Keys.Delete(ctx, scope, o.actor(1), k.ID, k.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// finish adds what the team did over the months, up to today.
func (o *office) finish(ctx context.Context, live *history) error {
	if err := o.signIns(ctx); err != nil {
		return err
	}
	if err := o.lookAtWebhooks(ctx, live); err != nil {
		return err
	}
	// One customer had their data erased.
	if n := len(live.finished); n > 3 {
		o.past(9 * 24 * time.Hour)
		for _, j := range live.finished[n/3:] {
			if !strings.HasSuffix(j.person.Email, ".example") || o.clock.at.Sub(j.completed) < 24*time.Hour {
				continue
			}
			if err := o.Sessions.Erase(ctx, live.scope, j.session.ID, []domain.SessionID{j.session.ID}, j.person.Email,
				o.actor(0)); err != nil {
				return err
			}
			break
		}
	}
	o.clock.at = o.now.Add(-26 * time.Hour)
	_, err := o.Team.Invite(ctx, o.account, o.actor(0), team.InvitationParams{Email: "jules.martin@harbourlending.example",
		Role: domain.RoleSupport})
	return err
}

// signIns are those of working days; the last ones are real, so that the team
// can be seen to be at work.
func (o *office) signIns(ctx context.Context) error {
	r := rand.New(rand.NewPCG(3, 4))
	for n, s := range o.team {
		o.clock.at = o.now.Add(-time.Duration(2+n*n*5) * time.Hour)
		if _, _, err := o.Auth.SignIn(ctx, s.Email, Password, domain.Visitor{UserAgent: sample.Browsers[4+n%2],
			IPAddress: officeAddress}); err != nil {
			return err
		}
	}
	return o.DB.InTx(ctx, func(tx *db.Tx) error {
		for ago := 1; ago <= days; ago++ {
			o.past(time.Duration(ago) * 24 * time.Hour)
			if day := o.clock.at.In(local).Weekday(); day == time.Saturday || day == time.Sunday {
				continue
			}
			for n, often := range []float64{0.3, 0.5, 0.9, 0.1} {
				if s := o.team[n]; sample.Chance(r, often) && o.clock.at.After(s.CreatedAt) {
					at := o.clock.at.Add(time.Duration(r.IntN(200)-90) * time.Minute)
					line := entry(o.account, nil, at, o.actor(n), domain.AuditSignedIn, s.ID.String(), s.Email)
					if err := tx.InsertAudit(ctx, &line); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
}

// lookAtWebhooks is what the developer did about the outage: she sent a test
// and looked up the secret.
func (o *office) lookAtWebhooks(ctx context.Context, live *history) error {
	o.clock.at = o.now.Add(-outageEnded).Add(40 * time.Minute)
	if err := o.Webhooks.RecordTestEvent(ctx, live.scope, o.actor(1), mainURL); err != nil {
		return err
	}
	o.clock.at = o.clock.at.Add(8 * time.Minute)
	_, err := o.Webhooks.ShowSecrets(ctx, live.scope, nil, o.actor(1))
	return err
}
