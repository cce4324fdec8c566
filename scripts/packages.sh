#!/bin/sh
# Builds the files of a release into dist/: binaries and archives for Linux and macOS,
# deb, rpm, bills of materials, SDKs and checksums. Nothing is published, and no tag is
# needed. Usage: scripts/packages.sh [VERSION]
# Without a version it is the newest one of CHANGELOG.md with the commit, which is
# lower than the release itself. The same commit gives the same files.
# SYSTEMS=linux_amd64 in the environment builds for that one alone.
set -eu
cd "$(dirname "$0")/.."

VERSION=${1:-}
if [ -z "$VERSION" ]; then
	newest=$(sed -n 's/^## \([0-9][0-9.]*\).*/\1/p' CHANGELOG.md | head -n 1)
	VERSION=$newest-snapshot.$(git log -1 --format=%ct.%h)
fi
# The time of every file.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export VERSION SOURCE_DATE_EPOCH
# In another user's checkout Git refuses to run, and go build fails without this.
buildvcs=$(git status >/dev/null 2>&1 && echo auto || echo false)

rm -rf dist
mkdir -p bin dist
go run ./tools/notice -o bin/NOTICE
go build -o bin/sbom ./tools/sbom
gzip -9nc CHANGELOG.md >bin/changelog.gz

# archive NAME: a tar of everything that runs without a package.
archive() {
	mkdir -p "$1/packaging/monitoring" "$1/packaging/ha" "$1/scripts" "$1/doc/adr"
	cp LICENSE bin/NOTICE CHANGELOG.md README.md "$1"
	cp doc/*.md "$1/doc"
	cp doc/adr/*.md "$1/doc/adr"
	cp -R doc/images "$1/doc"
	cp packaging/Caddyfile packaging/nginx.conf packaging/*.env packaging/*.service packaging/candor.socket "$1/packaging"
	cp packaging/monitoring/* "$1/packaging/monitoring"
	cp packaging/ha/* "$1/packaging/ha"
	cp -R packaging/kubernetes packaging/apt "$1/packaging"
	cp scripts/backup.sh scripts/restore.sh scripts/verify-backup.sh "$1/scripts"
	chmod -R u=rwX,go=rX "$1"
	tar -C "$(dirname "$1")" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -cf - "$(basename "$1")" |
		gzip -9n >"dist/$(basename "$1").tar.gz"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for system in ${SYSTEMS:-linux_amd64 linux_arm64 darwin_amd64 darwin_arm64}; do
	name=candor_${VERSION}_$system
	CGO_ENABLED=0 GOOS=${system%_*} GOARCH=${system#*_} go build -trimpath "-buildvcs=$buildvcs" \
		-ldflags "-s -w -X main.version=$VERSION" -o "dist/candor_$system/candor" ./cmd/candor
	bin/sbom -binary "dist/candor_$system/candor" -version "$VERSION" -o "dist/$name.cdx.json"
	mkdir "$work/$name"
	cp "dist/candor_$system/candor" "$work/$name"
	archive "$work/$name"
done
go build -modfile=tools/release.mod -o bin/nfpm github.com/goreleaser/nfpm/v2/cmd/nfpm
for folder in dist/candor_linux_*; do
	export GOARCH="${folder##*_}"
	for format in deb rpm; do bin/nfpm package --config packaging/nfpm.yaml --packager "$format" --target dist/ >/dev/null; done
done
unset GOARCH
sh scripts/pack-sdks.sh "$VERSION" dist
(cd dist && find . -maxdepth 1 -type f | sed 's|^\./||' | LC_ALL=C sort | xargs sha256sum >"$work/SHA256SUMS" && mv "$work/SHA256SUMS" .)
times >"$work/times" # a pipe's shell would have none
sed -n '2s/\(.*\) \(.*\)/packages.sh: \1 of processor time, and \2 of the system/p' "$work/times"
