package service

// VerifyPassword is verifyPassword, for tests.
var VerifyPassword = verifyPassword
