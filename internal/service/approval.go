package service

import (
	"context"
	"regexp"

	"candor/db"
	"candor/internal/domain"
)

var errNotApproved = domain.Errorf(domain.CodeForbidden, "This account is not approved for live mode yet, so it can't create live sessions. Use test mode until then. The owners get an email when live mode opens.")

// ApproveAccount opens live mode to an account and writes to its owners (D52).
// Done again, it changes nothing. Error: not_found.
func (s *Service) ApproveAccount(ctx context.Context, id domain.AccountID, by domain.Actor) (account *domain.Account, err error) {
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		if account, err = tx.LockAccount(ctx, id); err != nil {
			return orCode(err, errAccountNotFound)
		}
		if account.ApprovedAt != nil {
			return nil
		}
		owners, err := tx.ApproveAccount(ctx, id, s.Clock.Now())
		if err != nil {
			return err
		}
		for _, owner := range owners {
			if err := s.Outbox.NoticeEmail(ctx, tx, owner, domain.NoticeLiveMode); err != nil {
				return err
			}
		}
		return s.audit(ctx, tx, id, by, deed{Action: domain.AuditAccountApproved, TargetID: id.String(), TargetName: account.Name})
	})
	return account, err
}

// link is what a mail program may make a link of: names stand in emails to
// third parties.
var link = regexp.MustCompile(`(?i)://|\bwww\.|\b[\p{L}\p{N}-]+\.[\p{L}]{2,}(/|:\d|\?|#)|[\p{L}\p{N}]\.(com|net|org|io|co|info|biz|app|dev|xyz|site|online|shop|top|link|me|ly|au|nz|uk|us|ru|cn)\b`)

// linkProblem is what is wrong with a name that holds a link, "" for nothing.
func linkProblem(name string) string {
	if link.MatchString(name) {
		return "must not contain a web address"
	}
	return ""
}
