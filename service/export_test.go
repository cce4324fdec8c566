package service

import "time"

// VerifyPassword is verifyPassword, for tests.
var VerifyPassword = verifyPassword

// SetSecretsLease shortens the wait after a change of webhook secrets, for
// tests in which no worker runs.
func (s *Service) SetSecretsLease(d time.Duration) { s.secretsLease = d }
