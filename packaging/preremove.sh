#!/bin/sh
# dpkg gives "remove" or "upgrade"; rpm gives 0 for the last version.
set -e
units="candor.socket candor.service candor-web.service candor-worker.service"
case "$1" in
remove | 0)
	# shellcheck disable=SC2086 # the units are separate words
	if [ -d /run/systemd/system ]; then
		systemctl disable --now $units
	elif command -v systemctl >/dev/null; then
		systemctl disable $units
	fi
	;;
esac
