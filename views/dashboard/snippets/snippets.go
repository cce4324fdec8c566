// Package snippets holds the code that partners copy to verify webhooks, each
// language's in a file of its own, as it is shown and as it is run by tests.
// It must not know anything of Candor: partners don't, either.
package snippets

import "embed"

//go:embed verify.* send.sh VerifyWebhook.* receiver/verify.go
var files embed.FS

// A Snippet is one language's code.
type Snippet struct {
	ID       string // in addresses
	Language string
	File     string // its name
	Note     string // what it needs
	Text     string
}

// All are the snippets in the order in which they are offered.
func All() []Snippet {
	out := []Snippet{
		{ID: "node", Language: "Node", File: "verify.mjs", Note: "Node 18 or later."},
		{ID: "python", Language: "Python", File: "verify.py", Note: "Python 3.9 or later."},
		{ID: "php", Language: "PHP", File: "verify.php", Note: "PHP 7.4 or later."},
		{ID: "ruby", Language: "Ruby", File: "verify.rb", Note: "Ruby 3.0 or later."},
		{ID: "java", Language: "Java", File: "VerifyWebhook.java", Note: "Java 8 or later."},
		{ID: "csharp", Language: "C#", File: "VerifyWebhook.cs", Note: ".NET Core 2.1 or later."},
		{ID: "go", Language: "Go", File: "receiver/verify.go", Note: "Go 1.19 or later."},
		{ID: "openssl", Language: "openssl", File: "verify.sh", Note: "bash and openssl, to check a request by hand."},
		{ID: "curl", Language: "curl", File: "send.sh", Note: "bash, curl and openssl, to try your receiver out."},
	}
	for i := range out {
		text, err := files.ReadFile(out[i].File)
		if err != nil {
			panic(err) // a file that is compiled in is missing
		}
		out[i].Text = string(text)
	}
	return out
}
