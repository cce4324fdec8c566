#!/bin/sh
# Builds the files of a release into dist/: binaries and archives for Linux and macOS,
# deb, rpm, bills of materials and checksums. Nothing is published, and no tag is
# needed. Usage: scripts/packages.sh [VERSION]
# Without a version it is the newest one of CHANGELOG.md with the commit, which is
# lower than the release itself.
set -eu
cd "$(dirname "$0")/.."

version=${1:-}
if [ -z "$version" ]; then
	newest=$(sed -n 's/^## \([0-9][0-9.]*\).*/\1/p' CHANGELOG.md | head -n 1)
	version=$newest-snapshot.$(git log -1 --format=%ct.%h)
fi

mkdir -p bin
go run ./tools/notice -o bin/NOTICE
# In another user's checkout Git refuses to run, and go build fails without this.
BUILDVCS=$(git status >/dev/null 2>&1 && echo auto || echo false)
# The time of every file, so that a commit gives the same packages again.
COMMIT_DATE=$(git log -1 --format=%cI) COMMIT_TIMESTAMP=$(git log -1 --format=%ct) VERSION=$version
export BUILDVCS COMMIT_DATE COMMIT_TIMESTAMP VERSION
go tool -modfile=tools/release.mod goreleaser release --snapshot --clean --skip=publish
sh scripts/pack-sdks.sh "$version" dist
(cd dist && sha256sum candor-node-*.tgz candor-go-*.tgz >>SHA256SUMS)
