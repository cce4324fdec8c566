#!/bin/sh
# Restores the newest backup beside the service, lets candor verify examine it, and removes
# it again: only a backup that was restored is one. What runs isn't touched.
# Usage: scripts/verify-backup.sh FOLDER
# FOLDER is backup.sh's. The folder of temporary files (TMPDIR) needs room for the database
# and the documents. Run it as root, or as the user that has all of FOLDER, on a machine
# with PostgreSQL's server; it needs the service's CANDOR_SECRET_KEYS.
# CANDOR is the command, by default that of the packages, which root runs as the user
# candor. PGUSER and PGDATABASE are the role and database of the service, by default candor.
set -eu

fail() {
	echo "verify-backup: $*" >&2
	exit 1
}

[ $# -eq 1 ] || fail "usage: scripts/verify-backup.sh FOLDER"
folder=$(cd "$1" && pwd) here=$(cd "$(dirname "$0")" && pwd)
for bin in /usr/lib/postgresql/*/bin /usr/pgsql-*/bin; do
	[ ! -d "$bin" ] || PATH=$PATH:$bin
done
command -v pg_ctl >/dev/null || fail "there is no pg_ctl: install PostgreSQL's server"
umask 077
work=$(mktemp -d) user=
# as runs a command as PostgreSQL's user, who owns the WAL: PostgreSQL refuses root.
as() {
	if [ -n "$user" ]; then su -s /bin/sh "$user" -c "$1"; else sh -c "$1"; fi
}
clean() {
	as "pg_ctl stop -D '$work/db/data' -m immediate -s" 2>/dev/null || true
	rm -rf "$work"
}
trap clean EXIT
trap 'exit 1' INT TERM
chmod 711 "$work"
mkdir "$work/db" "$work/candor"
if [ "$(id -u)" -eq 0 ]; then
	user=$(ls -ld "$folder/wal/." | awk '{ print $3 }')
	chown "$user" "$work/db"
	[ -n "${CANDOR:-}" ] || chown candor "$work/candor" # the documents get its owner
fi

documents=
[ -z "$(ls -A "$folder/documents")" ] || documents=$work/candor/documents
sh "$here/restore.sh" "$folder" "$work/db/data" "$documents" >"$work/said" || fail "the restore failed"
base=$(sed -n 's/^restore: \(.*\) is in .*/\1/p' "$work/said")
# The server's own configuration may be of another machine, or in another folder. What was
# set by ALTER SYSTEM came along: only the command line is above it.
# Root and the service's user are let in by the socket, as the service's role, and no other.
role=${PGUSER:-candor}
printf 'local all "%s" peer map=verify\n' "$role" >"$work/db/hba.conf"
printf 'verify "%s" "%s"\n' "$(id -un)" "$role" candor "$role" >"$work/db/ident.conf"
: >"$work/db/postgresql.conf"
chmod 644 "$work"/db/*.conf
chmod 711 "$work/db"
set -- -p 5432 -c "config_file=$work/db/postgresql.conf" -c "hba_file=$work/db/hba.conf" -c "ident_file=$work/db/ident.conf" \
	-c "unix_socket_directories=$work/db" -c listen_addresses= -c ssl=off -c logging_collector=off -c archive_mode=off
as "pg_ctl start -D '$work/db/data' -s -w -t 86400 -l '$work/db/log' -o '$*'" ||
	fail "PostgreSQL doesn't start: $(tail -n 5 "$work/db/log")"
url="postgres:///${PGDATABASE:-candor}?host=$work/db&port=5432&user=$role" tries=86400
until [ "$(psql -Atqd "$url" -c 'SELECT pg_is_in_recovery()' 2>&1)" = f ]; do
	as "pg_ctl status -D '$work/db/data'" >/dev/null || fail "the recovery ended: $(tail -n 5 "$work/db/log")"
	[ $((tries -= 1)) -gt 0 ] || fail "the recovery doesn't end: $(tail -n 5 "$work/db/log")"
	sleep 1
done

# Backups are made by the release that runs, or the one before.
verify() { # shellcheck disable=SC2086 # CANDOR is a command with its arguments
	DATABASE_URL=$url CANDOR_MIGRATE_URL=$url CANDOR_DATABASE_DIRECT_URL= CANDOR_DATA_DIR=$work/candor \
		DATABASE_URL_FILE= CANDOR_MIGRATE_URL_FILE= CANDOR_DATABASE_DIRECT_URL_FILE= ${CANDOR:-candor} "$1"
}
verify migrate >/dev/null
verify verify || fail "candor verify found faults in $base"
name=${base##*/}
echo "$name" >"$folder/verified.time"
chmod 644 "$folder/verified.time"
echo "verify-backup: $base was restored and has no fault"
