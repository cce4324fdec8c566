package passwords

// CommonPasswords is commonPasswords, for tests.
var CommonPasswords = commonPasswords
