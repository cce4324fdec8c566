package ui

import "testing"

func TestFileSize(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[int64]string{
		1: "1 KB", 1023: "1 KB", 348_211: "340 KB", 1<<20 - 513: "1023 KB", 1<<20 - 512: "1.0 MB", 10<<20 - 1: "10.0 MB",
		1 << 20: "1.0 MB", 4_812_004: "4.6 MB", 10 << 20: "10 MB",
	} {
		if got := FileSize(bytes); got != want {
			t.Errorf("FileSize(%d) = %q, want %q", bytes, got, want)
		}
	}
}
