#!/bin/sh
# Packs the SDKs into a folder, as candor-node-VERSION.tgz and candor-go-VERSION.tgz.
# Usage: scripts/pack-sdks.sh VERSION FOLDER
set -eu
version=$1
mkdir -p "$2"
out=$(cd "$2" && pwd)
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# In a copy: a developer's tree keeps its own generated files.
cp -R sdk "$work"
go run ./tools/sdk -root "$work/sdk" -version "$version"
mkdir "$work/node"
tools/openapi/node_modules/.bin/tsc --project "$work/sdk/node" --typeRoots tools/openapi/node_modules/@types --outDir "$work/node/dist"
sed "s/\"version\": \"0.0.0\"/\"version\": \"$version\"/" sdk/node/package.json >"$work/node/package.json"
cp LICENSE sdk/node/README.md "$work/node"
(cd "$work/node" && npm pack --silent --pack-destination "$out" >/dev/null)

mkdir "$work/candor-go-$version"
cp LICENSE "$work"/sdk/go/* "$work/candor-go-$version"
tar -C "$work" -czf "$out/candor-go-$version.tgz" "candor-go-$version"
