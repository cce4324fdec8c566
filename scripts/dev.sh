#!/bin/sh
# What `make dev` runs at its start and at each save of a file other than the
# text of a template: builds what has changed and serves it. templ's watcher ends
# it before it runs it again.
set -eu
cd "$(dirname "$0")/.."

make -s static/dist/manifest.json
# Without optimization, version stamps and debug tables, and with the compiler's
# garbage collected rarely, a build takes half the time.
CGO_ENABLED=0 GOGC=400 go build -buildvcs=false -gcflags='candor/...=-N -l' -tags dev -ldflags '-s -w' -o bin/candor-dev ./cmd/candor
bin/candor-dev serve &
server=$!
# templ's proxy asks a server that is still starting less and less often, so the
# page is loaded again as soon as it answers.
until curl -fs -o /dev/null http://localhost:8080/healthz; do
	kill -0 $server
	sleep 0.05
done
curl -fs -o /dev/null -X POST http://localhost:7331/_templ/reload/events
wait $server
