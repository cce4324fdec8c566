#!/bin/sh
# Restores what backup.sh and archived WAL have kept, on a machine without a database.
# Usage: scripts/restore.sh FOLDER DATA [DOCUMENTS] [TIME]
# FOLDER is backup.sh's. DATA is PostgreSQL's empty or missing data folder. DOCUMENTS is
# the folder documents of CANDOR_DATA_DIR, or "" if they are in S3. TIME is UTC, such as
# 2026-11-23T14:59:30Z; without it everything that was archived is restored.
# Run it as root: what is restored gets the owner of the folder that it is put into, such
# as postgres and candor, and the WAL that of DATA. Or run it as one user that has all.
set -eu

fail() {
	echo "restore: $*" >&2
	exit 1
}

[ $# -ge 2 ] && [ $# -le 4 ] || fail "usage: scripts/restore.sh FOLDER DATA [DOCUMENTS] [TIME]"
folder=$(cd "$1" && pwd) data=${2%/} documents=${3:-} to=${4:-}
case $folder in *[\'\"\\%]*) fail "$folder has a quote, backslash or % in its name: move it" ;; esac
case $to in
'' | [0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9]Z) ;;
*) fail "$to is not a time such as 2026-11-23T14:59:30Z" ;;
esac
case $documents in
'' | /*) ;;
*) fail "$documents is not the whole path of a folder: give '' for no documents" ;;
esac
short=$(echo "$to" | tr -d ':-')

for place in "$data" "$documents"; do
	[ -z "$place" ] || [ ! -e "$place" ] || [ -z "$(ls -A "$place")" ] || fail "$place is not empty: this restores on a machine without a database"
done

# The newest base backup that ended before the time. Names are times, in their order.
base=
for one in "$folder"/base/*Z; do
	[ -d "$one" ] || continue
	name=${one##*/}
	[ -n "$short" ] && [ "$(printf '%s\n%s\n' "$name" "$short" | sort | head -n 1)" != "$name" ] && continue
	base=$one
done
[ -n "$base" ] || fail "$folder/base has no base backup${to:+ from before $to}"

# This server's settings: Debian's are apart from the data, others come with the backup, as
# those by ALTER SYSTEM do everywhere.
version=$(cat "$base/PG_VERSION") config=$base
[ ! -d "/etc/postgresql/$version/${data##*/}" ] || config=/etc/postgresql/$version/${data##*/}
PATH=$PATH:/usr/lib/postgresql/$version/bin:/usr/pgsql-$version/bin
set_here() { postgres -C "$1" -D "$config" 2>/dev/null || postgres -C "$1" -D / -c config_file=/dev/null 2>/dev/null || true; }
# With less of these the server wouldn't recover, so it gets them below.
needed='max_connections|max_worker_processes|max_wal_senders|max_prepared_transactions|max_locks_per_transaction'
if [ ! -e "$base.conf" ]; then
	echo "restore: $base.conf is missing: if the server had more than PostgreSQL's default of $(echo "$needed" | sed 's/|/, /g'), set it before step 1, or it doesn't recover" >&2
elif ! command -v postgres >/dev/null; then
	echo "restore: there is no postgres here, so its settings aren't compared with $base.conf" >&2
else
	grep -E '^[A-Za-z0-9_.]+ = ' "$base.conf" | while IFS= read -r line; do
		name=${line%% = *}
		case $name in unix_socket_permissions | log_file_mode) continue ;; esac # octal, and decimal here
		! grep -q "^$name = " "$base/postgresql.auto.conf" || continue
		here="'$(set_here "$name" | sed "s/'/''/g")'"
		[ "${line#* = }" = "$here" ] || echo "restore: $line in the backup, $here on this server"
	done
fi

if [ -n "$documents" ] && [ -n "$short" ]; then
	copied=$(cat "$folder/documents.time" 2>/dev/null || echo 0)
	[ "$(printf '%s\n%s\n' "$copied" "$short" | sort | head -n 1)" = "$short" ] ||
		echo "restore: the documents were copied before $to: later ones are missing; candor verify lists how many" >&2
fi

# owner is the user and group, as numbers, of the place or of what is to hold it.
owner() (
	place=$1
	while [ ! -e "$place" ]; do place=$(dirname "$place"); done
	ls -nd "$place" | awk '{ print $3 ":" $4 }'
)
give() { [ "$(id -u)" -ne 0 ] || chown -R "$1" "$2"; }
postgres=$(owner "$data") candor=$(owner "${documents:-/}")
give "$postgres" "$folder/wal"
if [ "$(id -u)" -eq 0 ] && user=$(id -nu "${postgres%:*}" 2>/dev/null); then
	# What PostgreSQL can't read it takes for the archive's end, and loses in silence.
	su -s /bin/sh "$user" -c 'ls "$0"' "$folder/wal" >/dev/null || fail "$user can't read $folder/wal: chmod a+x the folders above it"
fi

umask 077
mkdir -p "$data"
cp -Rp "$base/." "$data/"
chmod 700 "$data"
{
	echo "# written by scripts/restore.sh"
	# An exit code above 125 ends the recovery. Any other is the archive's end.
	echo "restore_command = 'if test -f \"$folder/wal/%f.gz\"; then gzip -dc \"$folder/wal/%f.gz\" >\"%p\" || exit 255; else cp \"$folder/wal/%f\" \"%p\"; fi'"
	echo "recovery_target_action = 'promote'"
	# Without TIME it is empty, because the base backup of a server that was restored to
	# a moment has that moment.
	echo "recovery_target_time = '$(echo "$to" | sed 's/T/ /; s/Z$/+00/')'"
	# The restored server must not write into the archive of the one that is lost, as it
	# would in a trial, nor wait for its replica. The last step below sets both again.
	echo "archive_mode = 'off'"
	echo "synchronous_standby_names = ''"
	grep -E "^($needed) = " "$base.conf" 2>/dev/null || true
} >>"$data/postgresql.auto.conf"
: >"$data/recovery.signal"
rm -f "$data/standby.signal"
give "$postgres" "$data"

if [ -n "$documents" ]; then
	mkdir -p "$documents"
	cp -Rp "$folder/documents/." "$documents/"
	give "$candor" "$documents"
fi

kept=
for one in "$base.conf" "$base.hba" "$folder"/*.env; do [ ! -e "$one" ] || kept="$kept $one"; done
cat <<END
restore: $base is in $data${to:+, to be recovered to $to}
Next:
  1. Start PostgreSQL on $data and wait until SELECT pg_is_in_recovery() is false.
  2. Set DATABASE_URL and the CANDOR_SECRET_KEYS of that time, and run candor migrate.
  3. Run candor verify.
  4. Until this step is done, another restore loses all that is stored from now on. Look
     whether postgresql.conf has archive_command and archive_timeout. As a superuser:
       ALTER SYSTEM SET archive_mode = 'on';
       ALTER SYSTEM RESET recovery_target_time;
     Restart PostgreSQL and run backup.sh, which fails if the WAL is not archived. When
     there is a replica again, set synchronous_standby_names, too.
     With Patroni set neither, because it would overrule Patroni: before that starts,
       ALTER SYSTEM RESET ALL;    (doc/operations.md, Restore)
  5. Start web processes and workers.
Settings of that time:$kept
END
