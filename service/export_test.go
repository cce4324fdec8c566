package service

import "time"

// VerifyPassword is verifyPassword, for tests.
var VerifyPassword = verifyPassword

// RefusePassword is the rule for new passwords, for tests.
func RefusePassword(password string, names ...string) string {
	return newPasswords().refuse(password, names...)
}

// CommonPasswords is loadCommonPasswords, for tests.
var CommonPasswords = loadCommonPasswords

// SetSecretsLease shortens the wait after a change of webhook secrets, for
// tests in which no worker runs.
func (s *Service) SetSecretsLease(d time.Duration) { s.secretsLease = d }
