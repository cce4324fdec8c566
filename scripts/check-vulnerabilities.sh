#!/bin/sh
# Fails if the code calls a function with a known vulnerability. If the database
# of vulnerabilities can't be reached, nothing is checked: the script prints that
# in a box, with the last check, because a single line was overlooked.
# Usage: scripts/check-vulnerabilities.sh [note]
# "note" writes the date of a check without findings to
# doc/vulnerabilities-checked, to be committed. Without it no file changes.
# GOVULNDB names another database: a URL, or file:///a/folder on a machine
# without a network.
set -eu
cd "$(dirname "$0")/.."
note=doc/vulnerabilities-checked

out=$(mktemp)
trap 'rm -f "$out"' EXIT
code=0
# -version prints the database's date before the check; no date: no response.
# shellcheck disable=SC2086 # GOVULNCHECK is a command with arguments
${GOVULNCHECK:-go tool -modfile=tools/lint.mod govulncheck} ${GOVULNDB:+-db "$GOVULNDB"} -version ./... >"$out" 2>&1 || code=$?
database=$(sed -n 's/^DB updated: \([0-9-]*\).*/\1/p' "$out")

if [ -z "$database" ]; then
	{
		echo "**********************************************************************"
		echo "*  NOT CHECKED for known vulnerabilities: the database did not respond."
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
