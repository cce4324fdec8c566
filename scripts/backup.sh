#!/bin/sh
# Backs up the database and then the documents into a folder.
# Usage: scripts/backup.sh [--keep DAYS] FOLDER [DOCUMENTS]
#        scripts/backup.sh --documents-only FOLDER DOCUMENTS
# BACKUP_URL is a connection of a role with REPLICATION, such as
# "host=db1 user=backup". DOCUMENTS is the folder documents of CANDOR_DATA_DIR; leave it
# out if they are in S3. Run it as root, or as a user that can read the documents.
# FOLDER/wal is where archive_command puts the WAL: root must make it, for PostgreSQL's
# user, before that begins. It fails if PostgreSQL doesn't archive. --keep removes what
# no restore to a moment of the last DAYS days needs: older base backups, then their WAL.
# Beside each base backup are PostgreSQL's settings of that time and its rules of access
# (.conf and .hba), and in FOLDER the files of the service's settings (SETTINGS, by default
# /etc/candor/*.env) without their secrets: keep these elsewhere.
#
# The database comes first. A document's file is written before its row, so a copy of
# the files that was made later has every file that the database names. For a restore to
# a later time, copy the documents after that time: run this with --documents-only as
# often as you want to lose at most. The copy keeps files that were deleted since,
# because an earlier state of the database still names them.
set -eu

fail() {
	echo "backup: $*" >&2
	exit 1
}

# from is the first WAL segment that a base backup needs.
from() { sed -n 's/^START WAL LOCATION: .*(file \([0-9A-F]*\))$/\1/p' "$1/backup_label"; }

# list lists the documents in a folder, with sizes. The service's .part isn't one yet.
# A document that was deleted since it was found is none.
list() (cd "$1" && find . -type f ! -name '*.part' -exec sh -c 'ls -ln "$@" 2>/dev/null || :' sh {} +)

# note keeps a time where the service, which is another user, can read it.
note() {
	echo "$2" >"$folder/$1"
	chmod 644 "$folder/$1"
}

# recovery are the settings that a server needs as high as they were, or it doesn't
# recover (PostgreSQL, "Hot Standby", administrator's overview).
recovery="'max_connections', 'max_worker_processes', 'max_wal_senders', 'max_prepared_transactions', 'max_locks_per_transaction'"

only= keep=
case ${1:-} in
--documents-only)
	only=yes
	shift
	;;
--keep)
	keep=${2:-}
	case $keep in '' | *[!0-9]*) fail "--keep needs a number of days" ;; esac
	command -v pg_archivecleanup >/dev/null || fail "--keep needs pg_archivecleanup, which is in the package of PostgreSQL's server"
	shift 2
	;;
esac
[ $# -ge 1 ] && [ $# -le 2 ] || fail "usage: scripts/backup.sh [--keep DAYS | --documents-only] FOLDER [DOCUMENTS]"
folder=$1 documents=${2:-}
umask 077
mkdir -p "$folder/documents"

if [ -z "$only" ]; then
	[ -n "${BACKUP_URL:-}" ] || fail "set BACKUP_URL to a connection of a role with REPLICATION"
	if [ "$(id -u)" -eq 0 ] && { [ ! -d "$folder/wal" ] || [ -n "$(find "$folder/wal/." -prune -user 0)" ]; }; then
		fail "PostgreSQL can't write in $folder/wal: install -d -m 711 $folder && install -d -m 700 -o postgres $folder/wal"
	fi
	mkdir -p "$folder/base" "$folder/wal"
	part=$folder/base/$$.part
	pg_basebackup -d "$BACKUP_URL" -D "$part" -X stream -c fast || fail "the base backup failed; remove $part"
	# Its name is the time of its end: it can be restored to any time after that.
	while base=$folder/base/$(date -u +%Y%m%dT%H%M%SZ) && [ -e "$base" ]; do sleep 1; done
	mv "$part" "$base"
	echo "backup: base backup $base"
	# A role that may only replicate gets no database to ask in.
	PGDATABASE=${PGDATABASE:-postgres} psql -Atqd "$BACKUP_URL" -c "SELECT name || ' = ''' || replace(setting, '''', '''''') || '''' FROM pg_settings
		WHERE source IN ('configuration file', 'command line') OR name IN ($recovery) ORDER BY name" >"$base.conf" || {
		rm -f "$base.conf"
		echo "backup: PostgreSQL's settings aren't kept: let the role into the database postgres (pg_hba.conf)" >&2
	}
	# On Debian pg_hba.conf isn't among the data. What it has as passwords is left out.
	PGDATABASE=${PGDATABASE:-postgres} psql -Atqd "$BACKUP_URL" -c "SELECT concat_ws(' ', type, array_to_string(database, ','),
		array_to_string(user_name, ','), address, netmask, auth_method, array_to_string(ARRAY(SELECT option FROM unnest(options) option
		WHERE option !~ '^(ldapbindpasswd|radiussecrets)='), ' ')) FROM pg_hba_file_rules WHERE error IS NULL ORDER BY line_number" \
		>"$base.hba" 2>/dev/null || {
		rm -f "$base.hba"
		[ -e "$base/pg_hba.conf" ] ||
			echo "backup: pg_hba.conf isn't kept: psql postgres -c 'GRANT SELECT ON pg_hba_file_rules TO backup; GRANT EXECUTE ON FUNCTION pg_hba_file_rules() TO backup'"
	}
	for settings in ${SETTINGS:-/etc/candor/*.env}; do
		# Notes can have former secrets, so they are left out.
		[ ! -r "$settings" ] || sed -E '/^[[:space:]#]*[A-Z0-9_]+=/!d
			/^CANDOR_BASE_URL=/b
			s/^[[:space:]#]*([A-Z0-9_]*(URL|KEY|SECRET|PASSWORD|HEADERS|TOKEN)[A-Z0-9_]*)=.*/# \1 is a secret, and not here/' \
			"$settings" >"$folder/${settings##*/}"
	done
	note base.time "${base##*/}"
	# A restored server began a timeline while its archive_mode was off. Without this file
	# a restore from an older base backup would not follow it.
	for one in "$base"/pg_wal/*.history; do
		copy=$folder/wal/${one##*/}
		if [ -e "$one" ] && [ ! -e "$copy" ]; then
			cp "$one" "$copy"
			[ "$(id -u)" -ne 0 ] || chown "$(ls -nd "$folder/wal/." | awk '{ print $3 ":" $4 }')" "$copy"
		fi
	done
fi

if [ -n "$documents" ]; then
	[ -d "$documents" ] || fail "there is no folder $documents"
	trap 'rm -f "$folder/.$$".*' EXIT
	trap 'exit 1' INT TERM
	list "$folder/documents" >"$folder/.$$.copied"
	list "$documents" >"$folder/.$$.stored"
	# A copy gets its name once it is whole, and is made again if its size is another. What
	# the service deletes before its turn isn't missed.
	awk 'FILENAME == ARGV[1] { copied[$5, $NF]; next } !(($5, $NF) in copied) { print $NF }' "$folder/.$$.copied" "$folder/.$$.stored" |
		while read -r name; do
			mkdir -p "$folder/documents/${name%/*}"
			{ cp -p "$documents/$name" "$folder/.$$.part" && mv -f "$folder/.$$.part" "$folder/documents/$name"; } ||
				[ ! -e "$documents/$name" ] || exit 1
		done
	note documents.time "$(date -u +%Y%m%dT%H%M%SZ)"
	echo "backup: documents copied to $folder/documents"
fi

if [ -z "$only" ]; then
	# The end of a base backup ends its segment, so a minute is long.
	segment=$folder/wal/$(from "$base") tries=60
	until [ -e "$segment.gz" ] || [ -e "$segment" ]; do
		[ $((tries -= 1)) -gt 0 ] || fail "PostgreSQL doesn't archive its WAL in $folder/wal: candor doctor and PostgreSQL's log tell why"
		sleep 1
	done
fi

if [ -n "$keep" ]; then
	find "$folder/base/." ! -name . -prune -mtime "+$keep" -exec rm -rf {} +
	for base in "$folder"/base/*Z; do break; done # the oldest
	pg_archivecleanup -x .gz "$folder/wal" "$(from "$base")"
fi
