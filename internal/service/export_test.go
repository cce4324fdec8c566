package service

import "time"

// VerifyPassword is verifyPassword, for tests.
var VerifyPassword = verifyPassword

// RefusePassword is refusePassword, for tests.
var RefusePassword = refusePassword

// CommonPasswords is commonPasswords, for tests.
var CommonPasswords = commonPasswords

// SetSecretsLease shortens the wait after a change of webhook secrets, for
// tests in which no worker runs.
func (s *Service) SetSecretsLease(d time.Duration) { s.secretsLease = d }
