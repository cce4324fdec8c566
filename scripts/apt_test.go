package scripts

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"candor/internal/testkit"
)

// TestAptRepository makes a repository of a small deb, and takes the deb from there by apt,
// which refuses what another key has signed or what was changed.
func TestAptRepository(t *testing.T) {
	t.Parallel()
	testkit.Slow(t) // make test-fast needs no apt-utils
	if _, err := exec.LookPath("apt-get"); err != nil && os.Getenv("CI") != "true" {
		t.Skip("apt is Debian's; make test installs the rest there")
	}
	dir, err := os.MkdirTemp("", "candor-apt") //nolint:usetesting // gpg's sockets need a short path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	run := func(command string) (string, error) {
		cmd := exec.Command("sh", "-ec", command)
		cmd.Env = append(os.Environ(), "GNUPGHOME="+dir+"/gpg", "DIR="+dir, "LC_ALL=C")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	must := func(command string) string {
		t.Helper()
		out, err := run(command)
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		return out
	}
	t.Cleanup(func() { _, _ = run("gpgconf --kill all") })
	must(`chmod 755 $DIR; mkdir -m 700 $DIR/gpg; mkdir -p $DIR/deb/DEBIAN $DIR/root/etc/preferences.d $DIR/root/state $DIR/root/cache
		gpg --batch --quiet --passphrase '' --quick-generate-key packages@example.com
		touch $DIR/root/status
		printf 'Package: candor\nVersion: 1.0.0\nArchitecture: all\n' >$DIR/deb/DEBIAN/control
		printf 'Maintainer: A <a@example.com>\nDescription: a test\n' >>$DIR/deb/DEBIAN/control
		dpkg-deb --build $DIR/deb $DIR/candor_1.0.0_all.deb
		sh ../packaging/apt/make.sh $DIR/apt packages@example.com $DIR/candor_1.0.0_all.deb`)
	server := testkit.Serve(t, http.FileServer(http.Dir(filepath.Join(dir, "apt"))))
	must(`echo "deb [signed-by=$DIR/apt/candor.gpg] ` + server.URL + ` stable main" >$DIR/root/sources.list`)
	const apt = `apt-get -qq -o Dir::Etc=$DIR/root/etc -o Dir::Etc::SourceList=$DIR/root/sources.list \
		-o Dir::Etc::SourceParts=/dev/null -o Dir::State=$DIR/root/state -o Dir::State::status=$DIR/root/status \
		-o Dir::Cache=$DIR/root/cache -o APT::Architecture=amd64 \
		-o APT::Architectures=amd64 -o APT::Sandbox::User=root -o APT::Update::Error-Mode=any -o Acquire::http::Proxy=DIRECT `
	must(apt + "update")
	must("cd $DIR/root && " + apt + "download candor && cmp candor_1.0.0_all.deb ../candor_1.0.0_all.deb")
	if out := must(apt + "--simulate install candor"); !strings.Contains(out, "Inst candor (1.0.0") {
		t.Errorf("apt would not install it: %s", out)
	}
	must(`sed -i 's/^Suite:.*/Suite: changed/' $DIR/apt/dists/stable/InRelease; rm $DIR/apt/dists/stable/Release.gpg`)
	if out, err := run("rm -rf $DIR/root/state/lists; " + apt + "update"); err == nil {
		t.Errorf("apt takes a release that was changed: %s", out)
	}
}
