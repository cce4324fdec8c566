package service

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	"candor/db"
	"candor/internal/domain"
)

// DefaultWebhookURL returns where the scope's events go that no session's own
// URL takes (D33); "" for nowhere.
func (s *Service) DefaultWebhookURL(ctx context.Context, scope domain.Scope) (string, error) {
	setting, err := s.DB.WebhookSetting(ctx, scope)
	if err != nil {
		return "", orCode(err, errAccountNotFound)
	}
	if setting.DefaultURL == nil {
		return "", nil
	}
	return *setting.DefaultURL, nil
}

// SetDefaultWebhookURL sets it; "" sends them nowhere. Error: validation_error
// on url (D38).
func (s *Service) SetDefaultWebhookURL(ctx context.Context, scope domain.Scope, by domain.Actor, url string) error {
	url = strings.TrimSpace(url)
	if url != "" {
		if err := s.Policy.CheckURL(url); err != nil {
			return domain.FieldError(domain.CodeValidation, "url", err.Error())
		}
	}
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		setting, err := tx.WebhookSetting(ctx, scope)
		if err != nil {
			return orCode(err, errAccountNotFound)
		}
		before := ""
		if setting.DefaultURL != nil {
			before = *setting.DefaultURL
		}
		if err := tx.SetDefaultURL(ctx, scope, optional(url)); err != nil {
			return err
		}
		return s.noteWebhook(ctx, tx, scope, by, deed{Action: domain.AuditWebhookURL, Before: map[string]string{"url": urlMark(before)}, After: map[string]string{"url": urlMark(url)}})
	})
}

// urlMark is what the audit log, which keeps it for good, has of a webhook URL:
// paths and queries hold receivers' secrets. Its end tells one URL from another
// at the same origin. "" stays "".
func urlMark(url string) string {
	if url == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(url))
	return fmt.Sprintf("%s #%x", domain.Origin(url), sum[:4])
}

// NoteTestEvent tells the audit log of a test event to that URL.
func (s *Service) NoteTestEvent(ctx context.Context, scope domain.Scope, by domain.Actor, url string) error {
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		return s.noteWebhook(ctx, tx, scope, by, deed{Action: domain.AuditTestEvent, After: map[string]string{"url": urlMark(url)}})
	})
}

// noteWebhook tells the audit log of what was done to the scope's webhooks.
func (s *Service) noteWebhook(ctx context.Context, tx *db.Tx, scope domain.Scope, by domain.Actor, d deed) error {
	d.Livemode, d.TargetID, d.TargetName = &scope.Livemode, scope.AccountID.String(), "webhooks"
	return s.audit(ctx, tx, scope.AccountID, by, d)
}
