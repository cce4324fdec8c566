package service

// VerifyPassword is verifyPassword, for tests.
var VerifyPassword = verifyPassword

// RefusePassword is the rule for new passwords, for tests.
func RefusePassword(password string, names ...string) string {
	return newPasswords().refuse(password, names...)
}

// CommonPasswords is loadCommonPasswords, for tests.
var CommonPasswords = loadCommonPasswords
