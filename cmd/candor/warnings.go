package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"time"

	"candor/cmd/candor/config"
	"candor/cmd/candor/doctor"
	"candor/internal/domain"
)

// keyCheckTime bounds warnOfKeys, which reads every session's data key.
const keyCheckTime = time.Minute

// warn logs what an operator should correct. None of it stops the start.
func (a *app) warn(ctx context.Context, c config.Config, logger *slog.Logger) {
	if !c.Development {
		a.warnOfRole(ctx, logger)
		warnOf(ctx, logger, settingWarnings(c)...)
	}
}

// settingWarnings are what candor config check shows, too; nil for what is right.
func settingWarnings(c config.Config) []error {
	signer, err := openSigner(c)
	if err != nil {
		signer = nil // a web process need not be able to read the key
	}
	return []error{taxWarning(c), paymentWarning(c), redisWarning(c), doctor.DatabaseWarning(readable(c)),
		doctor.CertificateWarning(signer, domain.SystemClock.Now()), doctor.MailWarning(c.SMTPURL != "")}
}

// warnOf logs what doctor shows, too.
func warnOf(ctx context.Context, logger *slog.Logger, warnings ...error) {
	for _, one := range warnings {
		if one != nil {
			logger.WarnContext(ctx, one.Error())
		}
	}
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
	sealed, err := a.services.Sealing.Counts(bounded)
	if ctx.Err() != nil {
		return // the process ends
	}
	if err != nil {
		logger.WarnContext(ctx, "can't check which secret keys are in use: run candor keys check", "error", err)
		return
	}
	for _, s := range sealed {
		if !s.Configured {
			logger.ErrorContext(ctx, "sealed by a secret key that isn't configured: add it to CANDOR_SECRET_KEYS", "kind", s.Kind, "key",
				s.Key, "values", s.Values)
		}
	}
}

// warnOfRole warns if the service's database role could rewrite the audit log.
func (a *app) warnOfRole(ctx context.Context, logger *slog.Logger) {
	may, err := a.db.MayRewriteAudit(ctx)
	if err != nil {
		logger.WarnContext(ctx, "can't check what the service's database role may do", "error", err)
	}
	warnOf(ctx, logger, doctor.RoleWarning(may))
}

// taxWarning is about invoices that include GST but can't be tax invoices.
func taxWarning(c config.Config) error {
	var unset []string
	if c.Terms.Seller.Name == "" {
		unset = append(unset, "CANDOR_SELLER_NAME")
	}
	if c.Terms.Seller.ABN == "" {
		unset = append(unset, "CANDOR_SELLER_ABN")
	}
	if c.Terms.GSTBasisPoints == 0 || len(unset) == 0 {
		return nil
	}
	return errors.New("invoices include GST but are no tax invoices without " + strings.Join(unset, " and ") +
		": set CANDOR_GST_PERCENT to 0 if you aren't registered for GST")
}

// paymentWarning is about invoices that can't be paid.
func paymentWarning(c config.Config) error {
	if c.Terms.Seller.Cards || len(c.Terms.Seller.Transfer) > 0 {
		return nil
	}
	return errors.New("invoices don't say how to pay them: set CANDOR_BANK_DETAILS, or collect them by Stripe")
}

// redisWarning is about a password of Redis that could be read on the network.
func redisWarning(c config.Config) error {
	u, err := url.Parse(c.RedisURL)
	if err != nil || u.Scheme != "redis" || u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback() {
		return nil
	}
	return errors.New(
		"the connection to Redis can be read or redirected on the network: use rediss:// in CANDOR_REDIS_URL, a unix socket or a loopback address")
}
