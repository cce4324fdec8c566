#!/bin/sh
# What `make dev` runs at its start and at each save of a file other than the
# text of a template: builds what has changed and serves it. templ's watcher ends
# it before it runs it again.
set -eu
cd "$(dirname "$0")/.."

make -s static/dist/manifest.json
go build -tags dev -ldflags "-s -w" -o bin/candor-dev ./cmd/candor
exec bin/candor-dev serve
