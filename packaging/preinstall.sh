#!/bin/sh
# Before files are unpacked, because some belong to this user. The arguments differ
# between dpkg and rpm; what is done doesn't.
set -e
getent group candor >/dev/null || groupadd --system candor
getent passwd candor >/dev/null ||
	useradd --system --gid candor --home-dir /var/lib/candor --no-create-home --shell /usr/sbin/nologin candor
