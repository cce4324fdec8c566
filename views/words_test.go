package views

import "testing"

func TestFileSize(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[int64]string{
		1: "1 KB", 1023: "1 KB", 348_211: "340 KB", 1 << 20: "1.0 MB", 4_812_004: "4.6 MB", 10 << 20: "10 MB",
	} {
		if got := FileSize(bytes); got != want {
			t.Errorf("FileSize(%d) = %q, want %q", bytes, got, want)
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for noun, want := range map[string]string{"investment": "an investment", "vehicle": "a vehicle", "other debt": "an other debt"} {
		if got := withArticle(t.Context(), noun); got != want {
			t.Errorf("withArticle(%q) = %q, want %q", noun, got, want)
		}
	}
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
