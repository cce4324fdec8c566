package demo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/sample"
	"candor/internal/statement"
)

// journey is one customer's way through the form.
type journey struct {
	*history
	person    sample.Person
	params    domain.NewSession
	answers   *statement.Statement
	visitor   domain.Visitor
	session   *domain.Session
	created   time.Time
	cancelled time.Time // zero for never
	completed time.Time
	expires   time.Time
	steps     []step
}

// sectionLook is what people make of a section: the minutes that it takes, and
// how likely they are to give up and to slip there.
type sectionLook struct{ minutes, drop, slip float64 }

var looks = map[string]sectionLook{
	statement.PersonalDetailsSection: {2.4, 0.035, 0.22}, statement.IncomeSection: {2.9, 0.03, 0.2},
	statement.AssetsSection:      {7.5, 0.06, 0.34},
	statement.LiabilitiesSection: {5.2, 0.045, 0.26}, statement.ExpensesSection: {6.1, 0.04, 0.24},
	statement.DocumentsSection:   {4.4, 0.075, 0},
	statement.DeclarationSection: {0.9, 0.02, 0},
}

// never is the share of links that are never opened.
const never = 0.11

// plan adds what will become of a session that is created then.
func (h *history) plan(created time.Time) {
	r := h.random
	j := &journey{history: h, person: sample.NewPerson(r), created: created}
	days := 14
	if !h.scope.Livemode || sample.Chance(r, 0.1) {
		days = 30
	}
	j.expires = created.Add(time.Duration(days) * 24 * time.Hour)
	j.answers = sample.NewStatement(r, j.person, created)
	j.visitor = domain.Visitor{UserAgent: sample.Pick(r, sample.Browsers), IPAddress: sample.Address(r)}
	j.paramsFor(days)
	j.step(created, j.create)
	if !sample.Chance(r, never) {
		j.visit(awake(r, created.Add(time.Minute+about(r, 150*time.Minute, 1.5))))
	}
	if sample.Chance(r, 0.055) {
		j.cancelled = created.Add(time.Hour + about(r, 40*time.Hour, 0.8))
	}
	j.end()
}

// paramsFor is what is asked for, and by whom.
func (j *journey) paramsFor(days int) {
	r := j.random
	j.reference += 1 + r.IntN(4)
	j.params = domain.NewSession{
		FormType: domain.FinancialStatement, CustomerEmail: j.person.Email, CustomerName: j.person.Name, ExpiresInDays: &days,
		ReferenceID: fmt.Sprintf("HL-%d", j.reference),
		Metadata: domain.Metadata{"product": quoted(sample.Pick(r, []string{"home_loan", "home_loan", "refinance", "personal_loan",
			"car_loan"}))},
	}
	switch share := r.Float64(); {
	case !j.scope.Livemode:
		j.params.By = j.office.keys["Staging"].Actor(officeAddress)
		j.params.ReferenceID = fmt.Sprintf("TEST-%d", j.reference)
		if share < 0.25 {
			j.params.By, j.params.WebhookURL = j.office.keys["Mia’s laptop"].Actor("198.51.100.23"), tunnelURL
		}
	case share < 0.07:
		j.params.By, j.params.Metadata = j.office.actor(2), nil
	case share < 0.3:
		j.params.By, j.params.WebhookURL = j.office.keys["Broker portal"].Actor("203.0.113.88"), brokerURL
		j.params.Metadata["broker"] = quoted(sample.Pick(r, []string{"Kestrel Finance", "Loan Market Bayside", "Aspect Brokers",
			"Homeward"}))
	default:
		j.params.By = j.office.keys["Loan origination"].Actor(officeAddress)
		if share < 0.36 && j.created.Before(j.now.Add(-crmGone).Add(3*24*time.Hour)) {
			j.params.WebhookURL = crmURL
		}
	}
	if sample.Chance(r, 0.04) {
		j.params.ReferenceID = ""
	}
}

func quoted(text string) json.RawMessage {
	raw, _ := json.Marshal(text) // a string always marshals
	return raw
}

// visit adds how the customer goes through the form, from then on.
func (j *journey) visit(at time.Time) {
	r := j.random
	j.step(at, j.open)
	at = at.Add(about(r, 25*time.Second, 0.5))
	for _, name := range statement.SectionNames {
		look := looks[name]
		j.step(at, j.reach(name))
		spent := about(r, time.Duration(look.minutes*float64(time.Minute)), 0.5)
		if sample.Chance(r, look.slip) {
			if wrong, refused := slipIn(r, j.answers, name, at); wrong != nil {
				j.step(at.Add(spent/2), j.draft(wrong, refused))
			}
		}
		if sample.Chance(r, look.drop) {
			return
		}
		at = at.Add(spent)
		switch name {
		case statement.DocumentsSection:
			for _, p := range j.papersOf() {
				j.step(at.Add(-time.Duration(1+r.IntN(40))*time.Second), j.upload(p))
			}
			j.step(at, j.save(name, []byte("{}")))
		case statement.DeclarationSection:
			j.completed = at
			j.step(at, j.submit)
			j.step(at.Add(900*time.Millisecond+about(r, 700*time.Millisecond, 0.4)), j.draw)
		default:
			answers, err := j.answers.Section(name, at).Stored()
			if err != nil {
				panic(err) // a section that was made here always marshals
			}
			j.step(at, j.save(name, answers))
		}
		at = at.Add(about(r, 6*time.Second, 0.6))
		if sample.Chance(r, 0.1) {
			at = awake(r, at.Add(about(r, 9*time.Hour, 1.2)))
		}
	}
}

func (j *journey) papersOf() []paper {
	if sample.Chance(j.random, 0.45) {
		return nil
	}
	var out []paper
	for range 1 + j.random.IntN(3) {
		out = append(out, sample.Pick(j.random, j.papers))
	}
	return out
}

// end cuts the journey off where the link ended, and adds that.
func (j *journey) end() {
	limit := j.expires
	if !j.cancelled.IsZero() && j.cancelled.Before(limit) {
		limit = j.cancelled
	}
	completed := !j.completed.IsZero() && j.completed.Before(limit)
	for _, s := range j.steps {
		if completed || s.at.Before(limit) {
			j.history.steps = append(j.history.steps, s)
		}
	}
	switch {
	case completed:
		j.read()
	case limit.Equal(j.cancelled):
		j.history.steps = append(j.history.steps, step{limit, j.cancel})
	default:
		j.history.steps = append(j.history.steps, step{limit.Add(about(j.random, 4*time.Second, 0.4)), j.expire})
	}
}

func (j *journey) step(at time.Time, do func(ctx context.Context, tx *db.Tx) error) {
	j.steps = append(j.steps, step{at.Truncate(time.Millisecond), do})
}

func (j *journey) create(ctx context.Context, tx *db.Tx) (err error) {
	if j.session, err = j.Sessions.Insert(ctx, tx, j.scope, j.params); err != nil {
		return err
	}
	if j.params.By.Kind == domain.ActorStaff {
		j.note(j.created, j.params.By, domain.AuditSessionCreated, j.session.ID)
		return nil
	}
	j.call(j.created, j.params.By, "POST", "/v1/sessions", 201, "", &j.session.ID)
	return nil
}

func (j *journey) open(ctx context.Context, tx *db.Tx) (err error) {
	if j.session, err = tx.OpenSession(ctx, j.session.ID, j.clock.at); err != nil {
		return err
	}
	return j.event(ctx, tx, j.session, domain.AccessedPayload{
		SessionID: j.session.ID, AccessedAt: form.At(j.clock.at), UserAgent: j.visitor.UserAgent, IPAddress: j.visitor.IPAddress,
	})
}

func (j *journey) reach(name string) func(context.Context, *db.Tx) error {
	return func(ctx context.Context, tx *db.Tx) error {
		return tx.ReachSection(ctx, j.session.ID, name, j.clock.at)
	}
}

func (j *journey) draft(wrong *form.Section, refused form.Errors) func(context.Context, *db.Tx) error {
	return func(ctx context.Context, tx *db.Tx) error {
		typed, err := json.Marshal(wrong.Inputs())
		if err != nil {
			return err
		}
		if _, err := tx.LockOpenSession(ctx, j.session.ID, j.clock.at); err != nil {
			return err
		}
		return j.Vault.SaveDraft(ctx, tx, j.session.ID, nil, wrong.Name, typed, domain.FailedRules(refused), j.clock.at)
	}
}

func (j *journey) upload(p paper) func(context.Context, *db.Tx) error {
	return func(ctx context.Context, tx *db.Tx) error {
		sum := sha256.Sum256(p.content)
		d := &domain.Document{
			ID: domain.NewDocumentID(), SessionID: j.session.ID, Category: p.category, FileName: p.name, ContentType: p.contentType,
			SizeBytes: int64(len(p.content)), SHA256: sum[:], UploadedAt: j.clock.at,
		}
		if err := j.Vault.PutDocument(ctx, tx, d, bytes.NewReader(p.content)); err != nil {
			return err
		}
		return j.Vault.InsertDocument(ctx, tx, d)
	}
}

func (j *journey) save(name string, answers []byte) func(context.Context, *db.Tx) error {
	return func(ctx context.Context, tx *db.Tx) (err error) {
		if j.session, err = tx.LockOpenSession(ctx, j.session.ID, j.clock.at); err != nil {
			return err
		}
		if _, err := j.Vault.SaveSection(ctx, tx, j.session, nil, name, answers, j.clock.at); err != nil {
			return err
		}
		j.session.SectionsCompleted++
		if err := tx.SetSectionsCompleted(ctx, j.session.ID, j.session.SectionsCompleted); err != nil {
			return err
		}
		return j.sectionEvent(ctx, tx, name)
	}
}

func (j *journey) sectionEvent(ctx context.Context, tx *db.Tx, name string) error {
	return j.event(ctx, tx, j.session, domain.SectionCompletedPayload{
		SessionID: j.session.ID, Section: statement.SectionName(name), SectionNumber: statement.SectionNumber(name),
		SectionsTotal:     statement.SectionsTotal,
		SectionsCompleted: j.session.SectionsCompleted, ProgressPercentage: statement.Percentage(j.session.SectionsCompleted),
	})
}

func (j *journey) submit(ctx context.Context, tx *db.Tx) (err error) {
	if j.session, err = tx.LockOpenSession(ctx, j.session.ID, j.clock.at); err != nil {
		return err
	}
	j.answers.Declaration = statement.Declaration{Accepted: true, FullName: j.person.Name, SignedAt: j.clock.at}
	signed, err := j.answers.Section(statement.DeclarationSection, j.clock.at).MarshalJSON()
	if err != nil {
		return err
	}
	if _, err := j.Vault.SaveSection(ctx, tx, j.session, nil, statement.DeclarationSection, signed, j.clock.at); err != nil {
		return err
	}
	at := j.clock.at
	j.session.Status, j.session.CompletedAt, j.session.SectionsCompleted = domain.Completed, &at, statement.SectionsTotal
	if err := tx.CompleteSession(ctx, j.session); err != nil {
		return err
	}
	if err := j.sectionEvent(ctx, tx, statement.DeclarationSection); err != nil {
		return err
	}
	if j.answers, err = j.Vault.Statement(ctx, tx, j.session.ID); err != nil {
		return err
	}
	j.finished = append(j.finished, j)
	return j.event(ctx, tx, j.session, domain.NewCompletedPayload(j.session, j.answers.Summary()))
}

func (j *journey) cancel(ctx context.Context, tx *db.Tx) error {
	if _, err := tx.CancelSession(ctx, j.scope, j.session.ID, j.clock.at); err != nil {
		return err
	}
	by := j.office.actor(2)
	if j.params.By.Kind == domain.ActorKey && sample.Chance(j.random, 0.5) {
		by = j.params.By
		j.call(j.clock.at, by, "DELETE", "/v1/sessions/:id", 200, "", &j.session.ID)
	}
	j.note(j.clock.at, by, domain.AuditSessionCancelled, j.session.ID)
	return nil
}

func (j *journey) expire(ctx context.Context, tx *db.Tx) error {
	if err := tx.ExpireSession(ctx, j.session.ID); err != nil {
		return err
	}
	return j.event(ctx, tx, j.session, domain.NewExpiredPayload(j.session))
}

// read adds that the partner fetches what was submitted.
func (j *journey) read() {
	r := j.random
	fetch := func(at time.Time, path string, action domain.AuditAction) {
		j.history.steps = append(j.history.steps, step{at, func(context.Context, *db.Tx) error {
			j.call(at, j.office.reader(j.scope.Livemode).Actor(officeAddress), "GET", "/v1/sessions/:id"+path, 200, "", &j.session.ID)
			if action != "" {
				j.note(at, j.office.reader(j.scope.Livemode).Actor(officeAddress), action, j.session.ID)
			}
			return nil
		}})
	}
	at := j.completed.Add(5*time.Second + about(r, 4*time.Second, 0.8))
	fetch(at, "", "")
	fetch(at.Add(time.Second), "/data", domain.AuditDataRead)
	fetch(at.Add(3*time.Second), "/pdf", domain.AuditPDFRead)
	if j.scope.Livemode && sample.Chance(r, 0.12) {
		at := awake(r, j.completed.Add(about(r, 5*time.Hour, 1)))
		j.history.steps = append(j.history.steps, step{at, func(context.Context, *db.Tx) error {
			j.note(at, j.office.actor(2), domain.AuditPDFRead, j.session.ID)
			return nil
		}})
	}
}
