package auth

import (
	"context"
	"crypto/rand"
	"strings"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/service/audit"
)

// recoveryCodes is how many recovery codes there are at first.
const recoveryCodes = 10

// RenewRecoveryCodes replaces the recovery codes and returns the new ones,
// which are shown this once.
func (s *Service) RenewRecoveryCodes(ctx context.Context, session *domain.StaffSession, from domain.Visitor) ([]string, error) {
	factor, err := s.TwoStep(ctx, session)
	if err != nil {
		return nil, err
	}
	if factor.Secret == nil {
		return nil, errNoTwoStep
	}
	codes, hashes := newRecoveryCodes()
	err = s.DB.InTx(ctx, func(tx *db.Tx) error {
		if err := tx.PutRecoveryCodes(ctx, session.ID, hashes); err != nil {
			return err
		}
		return s.Audit.Record(ctx, tx, session.AccountID, session.ActorAt(from.IPAddress),
			audit.Entry{Action: domain.AuditRecoveryCodesMade, TargetID: session.ID.String(), TargetName: session.Email})
	})
	return codes, err
}

// recoveryAlphabet has no characters that look alike.
const recoveryAlphabet = "abcdefghjkmnpqrstvwxyz0123456789"

// recoveryLength is how many characters of 5 bits a recovery code has: 120 bits
// can't be found from the stored SHA-256. Codes made before had 16 and still work.
const recoveryLength = 24

// newRecoveryCodes returns recovery codes and what is stored of them. Groups of
// four can be typed from paper; typedCode takes them in any case and spacing.
func newRecoveryCodes() (codes []string, hashes [][]byte) {
	for range recoveryCodes {
		random := make([]byte, recoveryLength)
		_, _ = rand.Read(random) // never fails
		var code strings.Builder
		for i, b := range random {
			if i > 0 && i%4 == 0 {
				code.WriteByte('-')
			}
			code.WriteByte(recoveryAlphabet[b%32])
		}
		codes = append(codes, code.String())
		hashes = append(hashes, domain.HashToken(typedCode(code.String())))
	}
	return codes, hashes
}
