package scripts

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What root runs by hand has the service's secrets, but the environment wins, as it does
// over candor.env: or "candor keys check" with one key would check all of them.
func TestCommandTakesSecretsAfterTheEnvironment(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script, err := os.ReadFile("../packaging/candor")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"candor": strings.NewReplacer("/etc/candor", dir, "/usr/lib/candor/candor", dir+"/show", "/usr/sbin", dir+"/sbin").
			Replace(string(script)),
		"id": "#!/bin/sh\necho 0\n", "sbin/runuser": "#!/bin/sh\nshift 3\nexec \"$@\"\n", "show": "#!/bin/sh\nenv\n",
		"candor.env": "CANDOR_REDIS_URL_FILE=/run/redis\nCANDOR_SECRET_KEYS=\n", "secrets/CANDOR_SECRET_KEYS": "k1:stored\n",
		"secrets/DATABASE_URL": "postgres://stored\n", "secrets/CANDOR_REDIS_URL": "redis://stored\n",
		"secrets/CANDOR_SMTP_URL": "smtp://stored\n", "secrets/notes.txt": "no setting\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	run := func(env ...string) (string, error) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sh", filepath.Join(dir, "candor"), "keys", "check")
		cmd.Env = append([]string{"PATH=" + dir + ":/usr/bin:/bin"}, env...) // cron's
		out, err := cmd.CombinedOutput()
		return "\n" + string(out), err
	}
	out, err := run("CANDOR_SECRET_KEYS=k2:given", "DATABASE_URL=", "CANDOR_SMTP_URL_FILE=/run/smtp")
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, line := range []string{"CANDOR_SECRET_KEYS=k2:given", "DATABASE_URL=", "CANDOR_SMTP_URL_FILE=/run/smtp"} {
		if !strings.Contains(out, "\n"+line+"\n") {
			t.Errorf("the environment's %s is lost:%s", line, out)
		}
	}
	if out, _ := run(); strings.Contains(out, "redis://stored") || !strings.Contains(out, "\nCANDOR_SECRET_KEYS=k1:stored\n") ||
		!strings.Contains(out, "\nDATABASE_URL=postgres://stored\n") {
		t.Errorf("of the secrets come:%s", out)
	}
	if strings.Contains(out, "smtp://stored") || strings.Contains(out, "redis://stored") || strings.Contains(out, "no setting") {
		t.Errorf("a secret beside its file, or what is none:%s", out)
	}
	if err := os.WriteFile(filepath.Join(dir, "candor.env"), []byte("DATABASE_URL=postgres://other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := run(); err == nil || !strings.Contains(out, "remove one") {
		t.Errorf("a secret in both places: %v, %s", err, out)
	}
}
