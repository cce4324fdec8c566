package sso

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"candor/internal/domain"
	"candor/internal/webhook"
)

// discovered is what a provider said of itself.
type discovered struct {
	*oidc.Provider           // nil if it never answered, and then away
	until          time.Time // it is asked again then
	away           error
	metadata       struct {
		AuthMethods []string `json:"token_endpoint_auth_methods_supported"`
		SendsIssuer bool     `json:"authorization_response_iss_parameter_supported"`
	}
}

// outgoing makes the requests of ctx go through the guard of outgoing requests.
func (s *Service) outgoing(ctx context.Context) context.Context {
	return oidc.ClientContext(ctx, webhook.NewHTTPClient(s.Policy))
}

// provider returns what the issuer says of itself, or last said if it is away. It is asked by
// one request at a time, at most providerLife ago, or awayLife if it is away.
func (s *Service) provider(ctx context.Context, issuer string) (discovered, error) {
	known, _ := s.providers.Get(issuer)
	if s.Clock.Now().Before(known.until) {
		return known, known.away
	}
	now, _, _ := s.asking.Do(issuer, func() (any, error) {
		p, err := s.discover(context.WithoutCancel(ctx), issuer)
		if err == nil {
			return p, nil
		}
		s.Logger.WarnContext(ctx, "a provider of sign-in doesn't answer", "issuer", issuer, "error", brief(err))
		known.until = s.Clock.Now().Add(awayLife)
		if known.Provider == nil {
			known.away = err
		}
		s.providers.Add(issuer, known)
		return known, nil
	})
	p, _ := now.(discovered)
	return p, p.away
}

// discover asks the issuer. Its pages must be ones that may be called, too: browsers
// are led there.
func (s *Service) discover(ctx context.Context, issuer string) (discovered, error) {
	found, err := oidc.NewProvider(s.outgoing(ctx), issuer)
	if err != nil {
		return discovered{}, err
	}
	p := discovered{Provider: found, until: s.Clock.Now().Add(providerLife)}
	if err := found.Claims(&p.metadata); err != nil {
		return discovered{}, err
	}
	for _, url := range []string{found.Endpoint().AuthURL, found.Endpoint().TokenURL} {
		if err := s.Policy.CheckURL(url); err != nil {
			return discovered{}, err
		}
	}
	s.providers.Add(issuer, p)
	return p, nil
}

// client is the account's OAuth client at the provider.
func (s *Service) client(c *domain.SSOConnection, p discovered, secret string) *oauth2.Config {
	endpoint := p.Endpoint()
	endpoint.AuthStyle = oauth2.AuthStyleInHeader
	if len(p.metadata.AuthMethods) > 0 && !slices.Contains(p.metadata.AuthMethods, "client_secret_basic") {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return &oauth2.Config{
		ClientID: c.ClientID, ClientSecret: secret, Endpoint: endpoint, RedirectURL: s.RedirectURL(c.AccountID),
		Scopes: []string{oidc.ScopeOpenID, oidc.ScopeProfile, oidc.ScopeEmail},
	}
}

// algorithms are those with a key of the provider's own: not "none", and none by which
// the client secret signs.
var algorithms = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA,
}

// verify checks signature, issuer, audience and times of a token for the connection.
func (s *Service) verify(ctx context.Context, c *domain.SSOConnection, p discovered, raw string) (*oidc.IDToken, error) {
	token, err := p.Verifier(&oidc.Config{ClientID: c.ClientID, SupportedSigningAlgs: algorithms, Now: s.Clock.Now}).Verify(ctx, raw)
	switch {
	case err != nil:
		return nil, err
	case len(token.Subject) > maxText:
		return nil, errors.New("sso: the subject is too long")
	case token.IssuedAt.After(s.Clock.Now().Add(clockSkew)):
		return nil, errors.New("sso: the token is of the future")
	}
	return token, nil
}

// clockSkew is how far the clocks of providers may be off.
const clockSkew = 2 * time.Minute
