package main

import (
	"context"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"time"

	"candor/cmd/candor/config"
	"candor/internal/domain"
)

// keyCheckTime bounds warnOfKeys, which reads every session's data key.
const keyCheckTime = time.Minute

// warn logs what an operator should correct. None of it stops the start.
func (a *app) warn(ctx context.Context, c config.Config, logger *slog.Logger) {
	if !c.Development {
		a.warnOfRole(ctx, logger)
		warnOfSettings(ctx, c, logger)
	}
}

// warnOfSettings logs what candor config check shows, too.
func warnOfSettings(ctx context.Context, c config.Config, logger *slog.Logger) {
	warnOfSeller(ctx, c, logger)
	warnOfDatabase(ctx, c, logger)
	warnOfRedis(ctx, c, logger)
	warnOfCertificate(ctx, c, logger, domain.SystemClock.Now())
	warnOfMail(ctx, c, logger)
}

// startKeyCheck runs warnOfKeys beside the rest: with millions of sessions it takes
// seconds, and a start shouldn't wait for it.
func (a *app) startKeyCheck(ctx context.Context, logger *slog.Logger) part {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.warnOfKeys(ctx, logger)
	}()
	return part{stop: func(context.Context) error {
		cancel()
		<-done
		return nil
	}}
}

// warnOfKeys logs which values are sealed by a secret key that isn't configured.
// Most of the service works without that key.
func (a *app) warnOfKeys(ctx context.Context, logger *slog.Logger) {
	bounded, cancel := context.WithTimeout(ctx, keyCheckTime)
	defer cancel()
	sealed, err := a.Sealing.Counts(bounded)
	if ctx.Err() != nil {
		return // the process ends
	}
	if err != nil {
		logger.WarnContext(ctx, "can't check which secret keys are in use: run candor keys check", "error", err)
		return
	}
	for _, s := range sealed {
		if !s.Configured {
			logger.ErrorContext(ctx, "sealed by a secret key that isn't configured: add it to CANDOR_SECRET_KEYS", "kind", s.Kind, "key", s.Key, "values", s.Values)
		}
	}
}

// warnOfRole warns if the service's database role could rewrite the audit log.
func (a *app) warnOfRole(ctx context.Context, logger *slog.Logger) {
	may, err := a.DB.MayRewriteAudit(ctx)
	switch {
	case err != nil:
		logger.WarnContext(ctx, "can't check what the service's database role may do", "error", err)
	case may:
		logger.WarnContext(ctx, "the service's database role could rewrite the audit log: set CANDOR_MIGRATE_URL, so that another role owns the tables")
	}
}

// warnOfSeller warns if invoices include GST but can't be tax invoices.
func warnOfSeller(ctx context.Context, c config.Config, logger *slog.Logger) {
	var unset []string
	if c.Terms.Seller.Name == "" {
		unset = append(unset, "CANDOR_SELLER_NAME")
	}
	if c.Terms.Seller.ABN == "" {
		unset = append(unset, "CANDOR_SELLER_ABN")
	}
	if c.Terms.GSTBasisPoints > 0 && len(unset) > 0 {
		logger.WarnContext(ctx, "invoices include GST but are no tax invoices without "+strings.Join(unset, " and ")+
			": set CANDOR_GST_PERCENT to 0 if you aren't registered for GST")
	}
}

// warnOfDatabase warns if a person on the network could read what is sent to the
// database.
func warnOfDatabase(ctx context.Context, c config.Config, logger *slog.Logger) {
	for _, variable := range readable(c) {
		logger.WarnContext(ctx, "the connection to the database can be read or redirected on the network: use a unix socket or a loopback address, or add sslmode=verify-full to "+variable)
	}
}

// warnOfRedis warns if Redis' password could be read on the network.
func warnOfRedis(ctx context.Context, c config.Config, logger *slog.Logger) {
	u, err := url.Parse(c.RedisURL)
	if err != nil || u.Scheme != "redis" || u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback() {
		return
	}
	logger.WarnContext(ctx, "the connection to Redis can be read or redirected on the network: use rediss:// in CANDOR_REDIS_URL, a unix socket or a loopback address")
}

// warnOfCertificate warns if PDFs can soon be signed no more. A web process need not be
// able to read the key, so that isn't said here.
func warnOfCertificate(ctx context.Context, c config.Config, logger *slog.Logger, now time.Time) {
	signer, err := openSigner(c, now)
	if err == nil && signer != nil && signer.ExpiresSoon(now) {
		logger.WarnContext(ctx, "the certificate that signs PDFs expires on "+signer.Expires().Format("2 January 2006")+
			": get a new one, set CANDOR_PDF_CERT and CANDOR_PDF_KEY and restart; once it has expired, no PDF is made")
	}
}

// warnOfMail warns if no email can be sent.
func warnOfMail(ctx context.Context, c config.Config, logger *slog.Logger) {
	if c.SMTPURL == "" {
		logger.WarnContext(ctx, "no mail server: staff can't be invited, sign up or reset a password until CANDOR_SMTP_URL is set")
	}
}
