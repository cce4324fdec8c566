package form

import "testing"

func TestWords(t *testing.T) {
	t.Parallel()
	if up, down := upper("địa chỉ"), lower("Địa chỉ"); up != "Địa chỉ" || down != "địa chỉ" || upper("") != "" {
		t.Errorf("upper and lower give %q and %q", up, down)
	}
	if got := upper("bank account"); got != "Bank account" {
		t.Errorf("upper = %q", got)
	}
	if got := lower("Bank account 2"); got != "bank account 2" {
		t.Errorf("lower = %q", got)
	}
	p := Page{Partner: "écu Finance"}
	if got := p.mark(); got != "É" {
		t.Errorf("mark of %s = %q, want É", p.Partner, got)
	}
}
