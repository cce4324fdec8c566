#!/bin/sh
# Delivers webhooks for the given time while workers are killed, PostgreSQL is
# restarted without warning and receivers fail. Prints how many were lost: it must
# be 0. Needs no running service.
# Usage: scripts/soak.sh [seconds]
set -eu
cd "$(dirname "$0")/.."

make --no-print-directory build
sh scripts/setup.sh postgres
exec go run ./tools/soak -seconds "${1:-120}" -candor bin/candor
