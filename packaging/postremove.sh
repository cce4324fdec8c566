#!/bin/sh
# dpkg gives "remove", "purge" or others; rpm gives 0 for the last version.
set -e
[ ! -d /run/systemd/system ] || systemctl daemon-reload
if [ "$1" = purge ] && [ -d /var/lib/candor ]; then
	echo "Customers' documents stay in /var/lib/candor, what is in /etc/candor/secrets stays, and so does the database. Delete them if you don't need them."
fi
