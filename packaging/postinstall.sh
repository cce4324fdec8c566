#!/bin/sh
# dpkg gives "configure" and at an upgrade the former version; rpm gives 1 for an
# installation and 2 for an upgrade.
set -e
case "$1:$2" in
configure: | 1:*)
	cat <<'TEXT'
Candor is installed. Next:
  1. Edit /etc/candor/candor.env; it says how to make the keys and the database.
  2. candor config check
  3. systemctl enable --now candor      (or candor-web candor-worker, as two processes)
TEXT
	;;
esac
[ -d /run/systemd/system ] || exit 0 # a container, or another init
systemctl daemon-reload
case "$1:$2" in
# Only those that run.
configure:?* | 2:*) systemctl try-restart candor.service candor-web.service candor-worker.service ;;
esac
