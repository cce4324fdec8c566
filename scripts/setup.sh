#!/bin/sh
# Installs what is missing for the named needs, with apt-get on Debian and Ubuntu or
# Homebrew on macOS. Prints nothing if nothing is missing.
# Usage: scripts/setup.sh [go] [node] [postgres] [cc] [chromium] [pdftools] [prometheus] [python]
# [redis] [pgbouncer] [caddy] [nginx] [ha] [aptrepo] [packagetools]
set -eu

has() { command -v "$1" >/dev/null 2>&1; }

# The same places as in the devpg package.
has_postgres() {
	has postgres && return 0
	has pg_config && [ -x "$(pg_config --bindir)/postgres" ] && return 0
	for bin in /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /opt/homebrew/opt/postgresql*/bin \
		/usr/local/opt/postgresql*/bin /Applications/Postgres.app/Contents/Versions/*/bin /usr/local/pgsql/bin; do
		[ -x "$bin/initdb" ] && return 0
	done
	return 1
}

# Debian's Chromium without windows takes half the processor time of the other.
has_chromium() {
	[ -n "${CHROME_PATH:-}" ] && return 0
	has chromium-headless-shell && return 0
	! is_debian || return 1
	has chromium || has chromium-browser || has google-chrome || has google-chrome-stable ||
		[ -d "/Applications/Google Chrome.app" ] || [ -d "/Applications/Chromium.app" ]
}

is_debian() { grep -qsx 'ID=debian' /etc/os-release; }

fail() {
	echo "setup: $*" >&2
	exit 1
}

# Takes the programs out of Debian's package: installed, the package would start Prometheus.
install_prometheus() {
	unpacked=$(mktemp -d)
	(cd "$unpacked" && apt-get download -qq prometheus && dpkg-deb -x prometheus_*.deb .) &&
		$as_root install "$unpacked/usr/bin/promtool" "$unpacked/usr/bin/prometheus" /usr/local/bin && rm -rf "$unpacked"
}

# Keeps packages' services from starting, now and when the machine does: tests start
# their own.
without_services() {
	policy=/usr/sbin/policy-rc.d
	[ ! -e "$policy" ] || policy=
	[ -z "$policy" ] || printf '#!/bin/sh\nexit 101\n' | $as_root install -m 755 /dev/stdin "$policy"
	status=0
	"$@" || status=$?
	[ -z "$policy" ] || $as_root rm -f "$policy"
	for service in redis-server pgbouncer caddy nginx patroni etcd haproxy; do
		case " $apt " in *" $service"*) $as_root systemctl disable --quiet "$service" || true ;; esac
	done
	return $status
}

apt= brew= prometheus=
need() { apt="$apt $1" brew="$brew $2"; }

for part in "$@"; do
	case $part in
	go) has go || fail "Go is missing: install it from https://go.dev/dl/" ;;
	node)
		has node && has npm || fail "Node.js is missing: install version 20 or newer from https://nodejs.org/"
		[ "$(node -p 'process.versions.node.split(".")[0]')" -ge 20 ] ||
			fail "Node.js $(node -v) is too old: install version 20 or newer from https://nodejs.org/"
		;;
	postgres) has_postgres || need postgresql postgresql@17 ;;
	cc) has "${CC:-cc}" || need "gcc libc6-dev" gcc ;;
	redis) has redis-server || need redis-server redis ;;
	pgbouncer) has pgbouncer || [ -x /usr/sbin/pgbouncer ] || need pgbouncer pgbouncer ;;
	python) has python3 || need python3 python3 ;;
	chromium)
		package=chromium
		! is_debian || package=chromium-headless-shell
		has_chromium || need "$package fonts-liberation" "--cask chromium"
		# Without it Chinese is drawn as narrow boxes: links look too small to tap.
		! is_debian || [ -d /usr/share/fonts-droid-fallback ] || need fonts-droid-fallback ""
		;;
	prometheus)
		{ has promtool && has prometheus; } || if has apt-get; then prometheus=yes; else need "" prometheus; fi
		;;
	pdftools)
		has pdftotext || need poppler-utils poppler
		has qpdf || need qpdf qpdf
		has certutil || need libnss3-tools nss
		has openssl || need openssl openssl
		;;
	caddy) has caddy || need caddy caddy ;;
	nginx) has nginx || [ -x /usr/sbin/nginx ] || need nginx-light nginx ;;
	ha) # on Debian only
		has patroni || need "patroni python3-etcd" ""
		has etcd || need etcd-server ""
		has haproxy || [ -x /usr/sbin/haproxy ] || need haproxy ""
		;;
	aptrepo) ! has apt-get || { has apt-ftparchive && has gpg; } || need "apt-utils gnupg" "" ;;
	packagetools) # on Debian only
		has lintian || need lintian ""
		has mmdebstrap || need mmdebstrap ""
		has systemd-nspawn || need systemd-container ""
		has buildah || need buildah ""
		has rpm2cpio || need "rpm rpm2cpio cpio" ""
		has qemu-aarch64 || need qemu-user ""
		has dockerd && has docker || need "docker.io iptables" ""
		;;
	*) fail "there is no part named $part" ;;
	esac
done

[ -n "$apt$brew$prometheus" ] || exit 0

if has apt-get; then
	as_root=
	if [ "$(id -u)" -ne 0 ]; then
		has sudo || fail "missing:$apt. Run as root: apt-get install$apt"
		as_root=sudo
	fi
	echo "setup: installing$apt${prometheus:+ prometheus}" >&2
	log=$(mktemp)
	# shellcheck disable=SC2086 # the names are separate words
	if ! { $as_root apt-get update -qq &&
		without_services $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $apt &&
		{ [ -z "$prometheus" ] || install_prometheus; }; } >"$log" 2>&1 </dev/null; then
		tail -n 20 "$log" >&2
		fail "apt-get could not install$apt${prometheus:+ prometheus}; its output is in $log"
	fi
	rm -f "$log"
elif has brew; then
	echo "setup: installing$brew" >&2
	case $brew in
	*--cask*)
		brew install --quiet --cask chromium
		brew=$(echo "$brew" | sed 's/--cask chromium//')
		;;
	esac
	# shellcheck disable=SC2086
	[ -z "$(echo $brew)" ] || brew install --quiet $brew
else
	fail "missing:$apt. Install them with this system's package manager"
fi
