#!/bin/sh
# Fails if the templates' generated Go code is out of date. It compares contents,
# not commits, so that it can run before a commit.
set -eu
cd "$(dirname "$0")/.."

sums() { find views handlers -name '*_templ.go' | sort | xargs cksum; }

before=$(sums)
go tool templ generate -log-level error
if [ "$before" != "$(sums)" ]; then
	echo "The templates' generated code was out of date. It is up to date now: commit it." >&2
	exit 1
fi
