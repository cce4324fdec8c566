#!/bin/sh
# dpkg gives "remove" or "upgrade"; rpm gives 0 for the last version.
set -e
case "$1" in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl disable --now candor.socket candor.service
	elif command -v systemctl >/dev/null; then
		systemctl disable candor.socket candor.service
	fi
	;;
esac
