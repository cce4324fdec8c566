#!/bin/sh
# Fails if the code calls something with a known vulnerability. If the database
# of vulnerabilities can't be reached, nothing is checked: the script says so in
# a box and names the last check, because a line among others was overlooked.
# Usage: scripts/check-vulnerabilities.sh [note]
# "note" writes the day of a check that found nothing to
# doc/vulnerabilities-checked, to be committed. Without it no file changes.
# GOVULNDB names another database: a URL, or file:///a/folder on a machine
# without a network.
set -eu
cd "$(dirname "$0")/.."
note=doc/vulnerabilities-checked

out=$(mktemp)
trap 'rm -f "$out"' EXIT
code=0
# -version names the database's date before the check; no date means no answer.
# shellcheck disable=SC2086 # GOVULNCHECK is a command with arguments
${GOVULNCHECK:-go tool -modfile=tools/lint.mod govulncheck} ${GOVULNDB:+-db "$GOVULNDB"} -version ./... >"$out" 2>&1 || code=$?
database=$(sed -n 's/^DB updated: \([0-9-]*\).*/\1/p' "$out")

if [ -z "$database" ]; then
	{
		echo "**********************************************************************"
		echo "*  NOT CHECKED for known vulnerabilities: the database gave no answer."
		sed -n 's/^govulncheck: /*  /p' "$out"
		echo "*  Last checked: $(cat "$note")"
		echo "*  Run 'make vulnerabilities' on a machine that reaches vuln.go.dev."
		echo "**********************************************************************"
	} >&2
elif [ "$code" -ne 0 ]; then
	cat "$out" >&2
	exit 1
else
	echo "govulncheck: the code calls nothing with a known vulnerability (database of $database)"
	if [ "${1:-}" = note ]; then
		echo "$(date -u +%Y-%m-%d), with the database of $database" >"$note"
	fi
fi
