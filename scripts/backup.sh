#!/bin/sh
# Backs up the database and then the documents into a folder.
# Usage: scripts/backup.sh [--documents-only] FOLDER [DOCUMENTS]
# BACKUP_URL is a connection of a role with REPLICATION, such as
# "host=db1 user=backup". DOCUMENTS is the folder documents of CANDOR_DATA_DIR; leave it
# out if they are in S3. Run it as root, or as a user that can read the documents.
# FOLDER/wal is where archive_command puts the WAL: root must make it, for PostgreSQL's
# user, before that begins.
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

only=
if [ "${1:-}" = --documents-only ]; then
	only=yes
	shift
fi
[ $# -ge 1 ] && [ $# -le 2 ] || fail "usage: scripts/backup.sh [--documents-only] FOLDER [DOCUMENTS]"
folder=$1 documents=${2:-}
if [ -z "$only" ] && [ "$(id -u)" -eq 0 ] && [ ! -d "$folder/wal" ]; then
	fail "there is no folder $folder/wal: install -d -m 711 $folder && install -d -m 700 -o postgres $folder/wal"
fi
umask 077
mkdir -p "$folder/base" "$folder/wal" "$folder/documents"

if [ -z "$only" ]; then
	[ -n "${BACKUP_URL:-}" ] || fail "set BACKUP_URL to a connection of a role with REPLICATION"
	part=$folder/base/$$.part
	pg_basebackup -d "$BACKUP_URL" -D "$part" -X stream -c fast || fail "the base backup failed; remove $part"
	# Its name is the time of its end: it can be restored to any time after that.
	name=$(date -u +%Y%m%dT%H%M%SZ)
	mv "$part" "$folder/base/$name"
	echo "backup: base backup $folder/base/$name"
fi

if [ -n "$documents" ]; then
	[ -d "$documents" ] || fail "there is no folder $documents"
	cp -Rpu "$documents/." "$folder/documents/"
	date -u +%Y%m%dT%H%M%SZ >"$folder/documents.time"
	echo "backup: documents copied to $folder/documents"
fi
