#!/bin/bash
# Installs the packages on a bare Debian, booted with its own systemd in a container of
# systemd-nspawn, as an operator would: install, settings, start, upgrade, remove, purge.
# Then it builds and runs the image, runs the program for arm64 if the machine isn't one,
# installs the rpm in Debian, and starts compose.yaml in a Docker of its own. Needs root on
# Debian, and the network for Debian's packages. It prints sizes and times, and stops at
# the first thing that is wrong.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
	echo "check-packages: $*" >&2
	[ ! -s "$log" ] || tail -n 20 "$log" >&2
	exit 1
}
step() { echo "== $* ($SECONDS s)"; }
log=
[ "$(id -u)" -eq 0 ] || fail "run it as root"

work=$(mktemp -d /var/tmp/candor-packages.XXXXXX)
chmod 755 "$work"
log=$work/log
debian=$work/debian
release=${RELEASE:-bookworm}
arch=$(dpkg --print-architecture)
processes=()
nspawn= init= # of Debian: systemd-nspawn, and the systemd in it
store=(buildah --root "$work/images" --runroot "$work/run" --storage-driver vfs)
compose=() # Docker Compose, once it has started something

end() {
	[ ${#compose[@]} -eq 0 ] || (cd "$work/compose" && "${compose[@]}" down --volumes) >/dev/null 2>&1 || true
	for pid in "${processes[@]}"; do kill "$pid" 2>/dev/null && wait "$pid" || true; done
	[ -z "$nspawn" ] || { kill -TERM "$nspawn" && wait "$nspawn"; } >/dev/null 2>&1 || true
	"${store[@]}" rm --all >/dev/null 2>&1 || true
	rm -rf "$work"
}
trap end EXIT

in_debian() {
	local enter=(chroot "$debian")
	[ -z "$init" ] || enter=(nsenter --target "$init" --all)
	"${enter[@]}" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}
quietly() { "$@" >"$log" 2>&1 || fail "failed: $*"; }
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# A process that serves: its log, and when it is ready its port.
ready() {
	for _ in $(seq 300); do
		port=$(sed -n 's/.*"msg":"ready","addr":"[^"]*:\([0-9]*\)".*/\1/p' "$1" | tail -n 1)
		[ -z "$port" ] || return 0
		sleep 0.1
	done
	cp "$1" "$log"
	fail "the service isn't ready after 30 seconds"
}
# The service among the processes that a process started.
candor_below() {
	local child
	for child in $(pgrep -P "$1"); do
		if [ "$(cat "/proc/$child/comm")" = candor ]; then echo "$child"; else candor_below "$child"; fi
	done
}

# A service at an address completes a session and makes its PDF, with each character of the
# customer's name and every typeface in the file (D80): the machine has no font.
completed_by() {
	local session status name
	session=$(curl -fsS "http://$1/v1/sessions" -H "Authorization: Bearer $2" -H 'Content-Type: application/json' \
		-d '{"form_type":"financial_statement","customer_email":"sam@example.com","customer_name":"王小明 Nguyễn Łukasz Ωmega","simulate":"completed"}' | sed -n 's/.*"id":"\(sess_[a-z0-9]*\)".*/\1/p')
	for _ in $(seq 300); do
		status=$(curl -sS -o "$work/statement.pdf" -w '%{http_code}' "http://$1/v1/sessions/$session/pdf" -H "Authorization: Bearer $2")
		[ "$status" = 202 ] || break
		sleep 0.2 # the worker makes it
	done
	[ "$status" = 200 ] && [ "$(head -c 5 "$work/statement.pdf")" = "%PDF-" ] || fail "no PDF: $status"
	pdftotext "$work/statement.pdf" "$work/statement.txt"
	for name in 王小明 Nguyễn Łukasz Ωmega; do grep -q "$name" "$work/statement.txt" || fail "the PDF doesn't name $name"; done
	! grep -q '�' "$work/statement.txt" || fail "the PDF lacks a character"
	pdffonts "$work/statement.pdf" | tail -n +3 >"$log"
	grep -q NotoSansSC "$log" && grep -q Inter "$log" && ! grep -v ' yes yes yes ' "$log" || fail "a typeface isn't in the PDF"
}

# The licences of all typefaces of PDFs are in a notice.
names_typefaces() {
	local name
	for name in expo-google-fonts/inter expo-google-fonts/noto-sans-sc go-fonts/dejavu; do grep -q "$name" "$1" || fail "$1 doesn't name $name"; done
}

step "two releases: one to upgrade from, and this one"
quietly scripts/packages.sh 0.9.0
mv "dist/candor_0.9.0_$arch.deb" "$work/previous.deb"
started=$SECONDS
quietly scripts/packages.sh
echo "a snapshot of all packages takes $((SECONDS - started)) s"
(cd dist && sha256sum --check --quiet SHA256SUMS)
version=$(ls dist/candor_*_linux_"$arch".tar.gz | sed 's|dist/candor_\(.*\)_linux_.*|\1|')
deb=$(ls dist/candor_*_"$arch".deb) rpm=$(ls dist/candor-*."$(uname -m)".rpm)
ls -l dist/*.tar.gz dist/*.deb dist/*.rpm dist/candor_*/candor | awk '{ printf "%8.1f MB  %s\n", $5 / 1e6, $9 }'
for bom in dist/*.cdx.json; do
	python3 -c 'import json, sys; b = json.load(open(sys.argv[1])); assert b["bomFormat"] == "CycloneDX" and b["metadata"]["component"]["version"] == sys.argv[2] and len(b["components"]) > 30' "$bom" "$version" ||
		fail "$bom isn't the bill of materials of $version"
done

step "an apt repository"
quietly go test -count=1 ./scripts -run TestAptRepository

step "lintian"
lintian --fail-on error --tag-display-limit 0 "$deb" >"$log" 2>&1 || fail "lintian finds an error"
grep -c '^W:' "$log" | sed 's/$/ warnings/'

step "a bare Debian, $release"
quietly mmdebstrap --mode=root --variant=minbase --include=ca-certificates "$release" "$work/base.tar"
mkdir "$debian"
tar -C "$debian" -xf "$work/base.tar"
cp /etc/resolv.conf "$debian/etc/resolv.conf"
quietly in_debian apt-get update
quietly in_debian apt-get install -y --no-install-recommends systemd-sysv dbus postgresql curl
sql_port=$(free_port)
cluster=$(in_debian sh -c 'echo /etc/postgresql/*/main')
quietly in_debian sed -i "s/^port = .*/port = $sql_port/" "$cluster/postgresql.conf"
systemd-nspawn --quiet --directory "$debian" --boot --register=no --keep-unit --link-journal=no </dev/null >"$work/boot.log" 2>&1 &
nspawn=$!
for _ in $(seq 300); do
	init=$(pgrep -P "$nspawn" || true)
	[ -z "$init" ] || [ "$(in_debian systemctl is-system-running 2>/dev/null)" != running ] || break
	sleep 0.2
done
log=$work/boot.log
[ "$(in_debian systemctl is-system-running)" = running ] || fail "Debian doesn't start: $(in_debian systemctl --failed)"
log=$work/log

step "the first release is installed"
cp "$work/previous.deb" "$deb" "$debian/root/"
in_debian apt-get install -y --no-install-recommends /root/previous.deb >"$log" 2>&1 || fail "it can't be installed"
grep -q "systemctl enable --now candor" "$log" || fail "the installation doesn't say what is next"
[ "$(in_debian stat -c '%a %U %G' /etc/candor/candor.env /var/lib/candor | tr '\n' ,)" = "640 root candor,700 candor candor," ] || fail "the modes of settings or data are wrong"
in_debian dpkg -V candor >"$log" && [ ! -s "$log" ] || fail "dpkg -V finds a difference"
if in_debian candor config check >"$log" 2>&1; then fail "settings without an address are accepted"; fi
grep -q "CANDOR_BASE_URL is missing" "$log" && grep -q "CANDOR_SECRET_KEYS is missing" "$log" || fail "config check doesn't say what is missing"

step "the settings, by what candor.env says"
env_file=$debian/etc/candor/candor.env
sed -n "s/^#   \(runuser .*\)/\1/p" "$env_file" | sed "s/ -- \([a-z]*\)/ -- \1 --port $sql_port/" >"$debian/root/database.sh"
[ "$(wc -l <"$debian/root/database.sh")" -eq 2 ] || fail "candor.env has no commands for the database"
quietly in_debian sh -e /root/database.sh
key=$(in_debian sh -c "$(sed -n 's/^#   \(echo .*\)/\1/p' "$env_file")")
sed -i "s|^CANDOR_BASE_URL=.*|CANDOR_BASE_URL=https://forms.example.com|; s|^CANDOR_SECRET_KEYS=.*|CANDOR_SECRET_KEYS=$key|
	s|^CANDOR_ADDR=.*|CANDOR_ADDR=localhost:0|; s|^DATABASE_URL=.*|&\&port=$sql_port|" "$env_file"
quietly in_debian candor config check
printf '%s\n' "$key" | in_debian install -m 600 /dev/stdin /etc/candor/secrets/CANDOR_SECRET_KEYS
if in_debian candor config check >"$log" 2>&1; then fail "a secret that is in candor.env and in a file is accepted"; fi
sed -i "s|^CANDOR_SECRET_KEYS=.*|CANDOR_SECRET_KEYS=|" "$env_file"
settings=$(md5sum <"$env_file")
quietly in_debian candor config check

step "the unit"
units=/usr/lib/systemd/system
in_debian systemd-analyze verify $units/candor.service $units/candor-web.service $units/candor-worker.service $units/candor.socket >"$log" 2>&1 && [ ! -s "$log" ] || fail "the units aren't valid"
in_debian systemd-analyze security --threshold=20 candor candor-web candor-worker >"$log" || fail "a unit is exposed by more than 2.0"
grep Overall "$log"

served() {
	for _ in $(seq 300); do
		in_debian journalctl --unit candor --output cat --since "$since" >"$work/service.log"
		! grep -q '"msg":"ready"' "$work/service.log" || break
		sleep 0.1
	done
	ready "$work/service.log"
	! grep '"level":"ERROR"' "$work/service.log" || fail "the service logs an error"
	[ "$(in_debian systemctl show candor --property NRestarts --value)" = 0 ] || fail "the service was restarted"
}
serving() { in_debian systemctl show candor --property MainPID --value; }

step "the service starts"
since=$(date '+%F %T')
quietly in_debian systemctl enable --now candor
served
curl -fsS "http://localhost:$port/readyz" >/dev/null
account=$(in_debian candor account create --name Acme --email ops@acme.example --plan professional --json)
api_key=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["test_key"])' <<<"$account")
session=$(curl -fsS "http://localhost:$port/v1/sessions" -H "Authorization: Bearer $api_key" -H 'Content-Type: application/json' \
	-d '{"form_type":"financial_statement","customer_email":"sam@example.com","customer_name":"Sam Taylor"}' | sed -n 's/.*"id":"\(sess_[a-z0-9]*\)".*/\1/p')
[ -n "$session" ] || fail "no session was created"
in_debian candor doctor >"$log" 2>&1 || fail "candor doctor finds a fault"
[ -z "$(find "$debian" -xdev \( -name '*.ttf' -o -name '*.otf' -o -name '*.ttc' -o -name '*.pf[ab]' \) -print -quit)" ] || fail "the bare Debian has a font"
completed_by "localhost:$port" "$api_key"
names_typefaces "$debian/usr/share/doc/candor/copyright"
[ "$(in_debian stat -c %U "/proc/$(serving)")" = candor ] || fail "the service runs as another user"

step "upgrade"
before=$(serving) since=$(date '+%F %T')
in_debian apt-get install -y --no-install-recommends "/root/$(basename "$deb")" >"$log" 2>&1 </dev/null || fail "it can't be upgraded"
in_debian dpkg -s candor | grep -q "^Version: $(sed 's/-/~/' <<<"$version")" || fail "the version is $(in_debian dpkg -s candor | grep ^Version)"
[ "$(md5sum <"$env_file")" = "$settings" ] || fail "the upgrade changed the settings"
[ "$(in_debian dpkg -V candor)" = "??5?????? c /etc/candor/candor.env" ] || fail "dpkg -V: $(in_debian dpkg -V candor)"
in_debian candor version | grep -q "candor $version" || fail "the program is $(in_debian candor version)"
served
[ "$(serving)" != "$before" ] || fail "the former program still serves"
curl -fsS "http://localhost:$port/v1/sessions/$session" -H "Authorization: Bearer $api_key" | grep -q "$session" || fail "the session is gone"
curl -fsS "http://localhost:$port/healthz" | grep -q "$version" || fail "the former version still serves"

step "a backup is restored and verified, by what doc/operations.md says"
sed -n 's/^    \(archive_.*\)/\1/p' doc/operations.md >"$debian$cluster/conf.d/archive.conf"
quietly in_debian install -d -m 711 /backup
quietly in_debian install -d -m 700 -o postgres /backup/wal
quietly in_debian sed -i '1i local replication,postgres backup trust' "$cluster/pg_hba.conf"
quietly in_debian runuser -u postgres -- createuser --port "$sql_port" --replication backup
quietly in_debian systemctl restart postgresql
quietly in_debian env BACKUP_URL="host=/run/postgresql port=$sql_port user=backup" /usr/lib/candor/backup.sh --keep 7 /backup /var/lib/candor/documents
quietly in_debian env PATH=/usr/bin:/bin /usr/lib/candor/verify-backup.sh /backup # as cron does
grep -q "checks passed" "$log" && [ -s "$debian/backup/verified.time" ] || fail "the backup isn't verified"

step "web server and workers as two processes, upgraded together"
quietly in_debian systemctl enable --now candor-web candor-worker
[ "$(in_debian systemctl is-active candor 2>&1)" = inactive ] || fail "candor.service runs beside its parts"
two_ready() {
	for _ in $(seq 300); do
		! in_debian curl -fsS http://localhost:9091/readyz >"$log" 2>&1 || ! in_debian curl -fsS http://localhost:9092/readyz >"$log" 2>&1 || return 0
		sleep 0.1
	done
	in_debian journalctl --unit candor-web --unit candor-worker --output cat >"$log"
	fail "the two processes aren't ready"
}
two_ready
in_debian curl -fsS http://localhost:9091/metrics >"$log"
grep -q '^process_start_time_seconds ' "$log" || fail "the unit hides what CandorRestarts watches"
before=$(in_debian systemctl show candor-web candor-worker candor --property MainPID --value)
quietly in_debian apt-get install -y --reinstall --no-install-recommends "/root/$(basename "$deb")"
two_ready
after=$(in_debian systemctl show candor-web candor-worker candor --property MainPID --value)
[ "$(printf '%s\n' "$before" "$after" | grep -v '^0*$' | sort -u | wc -l)" = 4 ] || fail "an upgrade doesn't restart exactly what runs: $before, then $after"
quietly in_debian systemctl disable --now candor-web candor-worker
quietly in_debian systemctl start candor

step "the service restarts without a gap behind candor.socket"
web_port=$(free_port)
mkdir "$debian/etc/systemd/system/candor.socket.d"
printf '[Socket]\nListenStream=\nListenStream=127.0.0.1:%s\n' "$web_port" >"$debian/etc/systemd/system/candor.socket.d/override.conf"
quietly in_debian systemctl daemon-reload
quietly in_debian systemctl stop candor
quietly in_debian systemctl enable --now candor.socket candor
since=$(date '+%F %T')
served
: >"$work/asking"
(
	set +e
	asked=0
	while [ -e "$work/asking" ]; do
		curl -fsS --max-time 30 "http://127.0.0.1:$web_port/v1/sessions/$session" -H "Authorization: Bearer $api_key" >/dev/null || { echo "request $asked was refused" >"$work/refused"; break; }
		asked=$((asked + 1))
		sleep 0.2 # within the rate limit
	done
	echo "$asked requests during two restarts, none refused" >"$work/asked"
) &
asking=$!
quietly in_debian systemctl restart candor
quietly in_debian systemctl restart candor
rm "$work/asking"
wait "$asking"
[ ! -e "$work/refused" ] || fail "$(cat "$work/refused")"
cat "$work/asked"

step "the image"
policy=$work/policy.json
echo '{"default":[{"type":"insecureAcceptAnything"}]}' >"$policy"
base=$("${store[@]}" from scratch)
quietly "${store[@]}" add "$base" "$work/base.tar" /
quietly "${store[@]}" commit --signature-policy "$policy" --rm "$base" docker.io/library/debian:12-slim
started=$SECONDS
quietly "${store[@]}" bud --isolation chroot --signature-policy "$policy" --pull-never --format docker --build-arg TARGETARCH="$arch" --tag candor .
echo "the image takes $((SECONDS - started)) s"
"${store[@]}" images --format '{{.Size}}' localhost/candor
quietly in_debian runuser -u postgres -- psql --port "$sql_port" -c "ALTER ROLE candor PASSWORD 'image'"
container=$("${store[@]}" from --signature-policy "$policy" --pull-never localhost/candor)
web_port=$(free_port) ops_port=$(free_port)
in_image() {
	"${store[@]}" run --isolation chroot --env CANDOR_BASE_URL=https://forms.example.com --env CANDOR_SECRET_KEYS="$key" \
		--env CANDOR_ADDR="localhost:$web_port" --env CANDOR_METRICS_ADDR="localhost:$ops_port" \
		--env DATABASE_URL="postgres://candor:image@127.0.0.1:$sql_port/candor?sslmode=disable" "$container" -- /usr/bin/candor "$@"
}
quietly in_image migrate
in_image serve >"$work/image.log" 2>&1 &
processes=($!)
ready "$work/image.log"
curl -fsS "http://localhost:$port/v1/sessions/$session" -H "Authorization: Bearer $api_key" | grep -q "$session" || fail "the image's service has no session"
[ "$(in_image health)" = alive ] || fail "the health check fails"
completed_by "localhost:$port" "$api_key"
! grep '"level":"ERROR"' "$work/image.log" || fail "the image lacks something"
names_typefaces "$("${store[@]}" mount "$container")/usr/share/doc/candor/NOTICE"
program=$(candor_below "${processes[0]}")
[ "$(stat -c %u "/proc/$program")" = 65532 ] || fail "the image's program runs as $(stat -c %u "/proc/$program")"
kill -TERM "$program"
wait "${processes[0]}" || fail "the image's service ended with exit code $?"
processes=()
if in_image health >"$log" 2>&1; then fail "the health check of a stopped service succeeds"; fi

if [ "$arch" = amd64 ]; then
	step "the program for arm64, under qemu"
	env -i TMPDIR=/tmp CANDOR_ENV=production CANDOR_BASE_URL=https://forms.example.com CANDOR_SECRET_KEYS="$key" CANDOR_ADDR=localhost:0 \
		CANDOR_DATA_DIR="$work/arm64" DATABASE_URL="postgres://candor:image@127.0.0.1:$sql_port/candor?sslmode=disable" \
		CANDOR_SHUTDOWN_DELAY=0s "$(command -v qemu-aarch64)" dist/candor_linux_arm64/candor serve >"$work/arm64.log" 2>&1 &
	processes=($!)
	ready "$work/arm64.log"
	completed_by "localhost:$port" "$api_key"
	kill -TERM "${processes[0]}"
	wait "${processes[0]}" || fail "the program for arm64 ended with exit code $?"
	processes=()
fi

step "remove and purge"
cp "$env_file" "$work/candor.env"
quietly in_debian apt-get remove -y candor
[ "$(in_debian systemctl is-active candor candor.socket 2>&1 | sort -u)" = inactive ] || fail "removing leaves the service running"
[ ! -e "$debian/usr/bin/candor" ] && [ ! -e "$debian$units/candor.service" ] || fail "removing leaves the program"
[ -e "$env_file" ] && [ -d "$debian/var/lib/candor/documents" ] || fail "removing deletes settings or documents"
[ ! -L "$debian/etc/systemd/system/multi-user.target.wants/candor.service" ] || fail "the removed service is still enabled"
quietly in_debian apt-get purge -y candor
grep -q "documents stay" "$log" || fail "purging doesn't say what stays"
[ ! -e "$env_file" ] && [ -d "$debian/var/lib/candor/documents" ] || fail "purging leaves the settings or deletes the documents"
[ -n "$(ls "$debian/etc/candor/secrets")" ] || fail "purging deletes secrets, without which a backup is lost"

step "rpm"
quietly rpm -K --nosignature "$rpm"
mkdir "$work/rpm"
# Debian's rpm2cpio returns 1 although it writes everything. The names are absolute.
{ rpm2cpio "$rpm" || true; } | cpio --quiet --no-absolute-filenames -idm -D "$work/rpm"
cmp "$work/rpm/usr/lib/candor/candor" "dist/candor_linux_$arch/candor"
"$work/rpm/usr/lib/candor/candor" version | grep -q "candor $version" || fail "the rpm's program has another version"
[ "$(rpm -qp --configfiles "$rpm" | sort | xargs)" = "/etc/candor/candor.env /etc/candor/web.env /etc/candor/worker.env" ] || fail "the rpm has other settings"
rpm -qp --queryformat '[%{FILEMODES:perms} %{FILEUSERNAME} %{FILEGROUPNAME} %{FILENAMES}\n]' "$rpm" >"$log"
grep -q '^-rw-r----- root candor /etc/candor/candor.env$' "$log" || fail "the mode of the rpm's settings is wrong"
names_typefaces "$work/rpm/usr/share/doc/candor/copyright"
[ -e "$work/rpm/usr/lib/systemd/system/candor.service" ] || fail "the rpm has no unit"
quietly in_debian apt-get install -y --no-install-recommends rpm
cp "$rpm" "$debian/root/candor.rpm"
cp "$work/candor.env" "$debian/root/candor.env"
since=$(date '+%F %T')
quietly in_debian rpm --install --nodeps /root/candor.rpm # its database of packages is empty
quietly in_debian cp /root/candor.env /etc/candor/candor.env # keeps mode and owner
quietly in_debian systemctl enable --now candor
served
curl -fsS "http://localhost:$port/v1/sessions/$session" -H "Authorization: Bearer $api_key" | grep -q "$session" || fail "the session is gone"
completed_by "localhost:$port" "$api_key"
quietly in_debian rpm --erase --nodeps candor
[ "$(in_debian systemctl is-active candor candor.socket 2>&1 | sort -u)" = inactive ] || fail "erasing leaves the service running"
[ ! -e "$debian/usr/bin/candor" ] || fail "erasing leaves the program"

step "compose.yaml, with a PostgreSQL of Debian's under the official image's name"
mkdir -p "$work/compose/bin" "$work/compose/dist" "$work/compose/postgres"
cp compose.yaml Dockerfile .dockerignore LICENSE "$work/compose"
cp bin/NOTICE "$work/compose/bin"
cp -r "dist/candor_linux_$arch" "$work/compose/dist"
cat >"$work/compose/postgres/Dockerfile" <<'END'
FROM debian:12-slim
RUN apt-get update && apt-get install -y --no-install-recommends postgresql && ln -s /usr/lib/postgresql/*/bin /usr/lib/postgresql/bin
COPY start.sh /
ENV PATH=/usr/lib/postgresql/bin:/usr/sbin:/usr/bin:/sbin:/bin PGDATA=/var/lib/postgresql/data
STOPSIGNAL SIGINT
ENTRYPOINT ["sh", "-e", "/start.sh"]
END
cat >"$work/compose/postgres/start.sh" <<'END'
as_postgres="setpriv --reuid=postgres --regid=postgres --clear-groups"
chown postgres: "$PGDATA"
if [ ! -e "$PGDATA/PG_VERSION" ]; then
	echo "$POSTGRES_PASSWORD" >/run/password
	chown postgres: /run/password
	$as_postgres initdb --username="$POSTGRES_USER" --pwfile=/run/password --auth-local=trust --auth-host=scram-sha-256 $POSTGRES_INITDB_ARGS
	echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
	$as_postgres pg_ctl -o "-c listen_addresses=''" -w start
	createdb -h /var/run/postgresql -U "$POSTGRES_USER" "$POSTGRES_USER"
	$as_postgres pg_ctl -w stop
fi
exec $as_postgres postgres -c listen_addresses='*'
END
web_port=$(free_port)
cat >"$work/compose/compose.override.yaml" <<END
services:
  db: {build: postgres}
  web: {ports: !override ["127.0.0.1:$web_port:8080"]}
END
(umask 077 && cat >"$work/compose/.env") <<END
CANDOR_BASE_URL=https://forms.example.com
CANDOR_SECRET_KEYS=$key
POSTGRES_PASSWORD=$(head -c 24 /dev/urandom | base64 | tr '+/' '-_')
END
program=$(go tool -modfile=tools/compose.mod -n github.com/docker/compose/v2/cmd)
export DOCKER_HOST=unix://$work/docker/socket
mkdir "$work/docker"
dockerd --data-root "$work/docker/data" --exec-root "$work/docker/exec" --pidfile "$work/docker/pid" --host "$DOCKER_HOST" --storage-driver vfs >"$work/docker.log" 2>&1 &
processes=($!)
for _ in $(seq 300); do
	! docker version >"$log" 2>&1 || break
	sleep 0.1
done
quietly docker import "$work/base.tar" debian:12-slim
compose=("$program")
in_compose() { (cd "$work/compose" && "${compose[@]}" "$@"); }
quietly in_compose up --detach --build
account=$(in_compose run --rm web account create --name Acme --email ops@acme.example --plan professional --json 2>"$log")
completed_by "localhost:$web_port" "$(python3 -c 'import json, sys; print(json.load(sys.stdin)["test_key"])' <<<"$account")"
for _ in $(seq 120); do
	healthy=$(in_compose ps --format '{{.Service}} {{.Health}}' | sort | tr '\n' ,)
	[ "$healthy" != "db healthy,web healthy,worker healthy," ] || break
	sleep 0.5
done
[ "$healthy" = "db healthy,web healthy,worker healthy," ] || fail "not all are healthy: $healthy"
quietly in_compose down --volumes

step "everything is right"
