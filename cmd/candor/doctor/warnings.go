package doctor

import (
	"strings"
	"time"

	"candor/internal/platform/pdfsign"
)

// The warnings that a start logs, too. Each is nil if there is nothing to warn of.

// RoleWarning is about what the service's database role may do.
func RoleWarning(mayRewriteAudit bool) error {
	if !mayRewriteAudit {
		return nil
	}
	return warning("the service's database role has every right, and could rewrite the audit log",
		"set CANDOR_MIGRATE_URL, so that another role owns the tables")
}

// DatabaseWarning is about variables whose connections the network can read.
func DatabaseWarning(readable []string) error {
	if len(readable) == 0 {
		return nil
	}
	return warning("the connection to the database can be read or redirected on the network",
		"use a unix socket or a loopback address, or add sslmode=verify-full to "+strings.Join(readable, " and "))
}

// CertificateWarning is about the end of the certificate that signs PDFs; nil signs none.
// One that has ended is more than a warning.
func CertificateWarning(signer *pdfsign.Signer, now time.Time) error {
	if signer == nil || signer.Check(now) != nil || !signer.ExpiresSoon(now) {
		return nil
	}
	return warning("the certificate that signs PDFs as "+signer.Subject()+" expires on "+signer.Expires().Format("2 January 2006"),
		"get a new certificate, set CANDOR_PDF_CERT and CANDOR_PDF_KEY and restart; once it has expired, no PDF is made")
}

// MailWarning is about email that can't be sent.
func MailWarning(hasServer bool) error {
	if hasServer {
		return nil
	}
	return warning("no mail server: staff can't be invited, sign up or reset a password", "set CANDOR_SMTP_URL and CANDOR_MAIL_FROM")
}
