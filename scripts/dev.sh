#!/bin/sh
# What `make dev` runs at its start and at each save of a file other than the
# text of a template: builds what has changed and serves it. templ's watcher ends
# it before it runs it again.
set -eu
cd "$(dirname "$0")/.."

make -s static/dist/manifest.json
# Without optimization, version stamps and debug tables, and with the compiler's
# garbage collected rarely, a build takes half the time.
GOGC=400 go build -buildvcs=false -gcflags='candor/...=-N -l' -tags dev -ldflags '-s -w' -o bin/candor-dev ./cmd/candor
exec bin/candor-dev serve
