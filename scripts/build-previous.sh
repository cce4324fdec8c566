#!/bin/sh
# Builds the release that scripts/previous-release names into bin/previous-COMMIT and
# prints that path. The source comes from the repository's history.
set -eu
cd "$(dirname "$0")/.."

fail() {
	echo "build-previous: $*" >&2
	exit 1
}

commit=$(sed -n 's/^commit=//p' scripts/previous-release)
migration=$(sed -n 's/^migration=//p' scripts/previous-release)
base=$(sed -n 's/^base=//p' scripts/previous-release)
[ -n "$commit" ] && [ -n "$migration" ] || fail "scripts/previous-release names no commit or no migration"
binary=bin/previous-$(echo "$commit" | cut -c 1-12)

git rev-parse --git-dir >/dev/null 2>&1 || fail "this isn't a clone: the previous release is built from the repository's history"
if ! git cat-file -e "$commit^{commit}" 2>/dev/null; then
	[ "$(git rev-parse --is-shallow-repository)" = true ] &&
		fail "this clone is shallow and lacks commit $commit: run 'git fetch --unshallow', or 'git fetch --depth=1 origin $commit'"
	fail "the repository has no commit $commit, which scripts/previous-release names"
fi

# A migration below the previous release's newest would never run there: goose refuses it.
theirs=$(git ls-tree --name-only "$commit" db/migrations/)
[ "$(echo "$theirs" | tail -n 1 | sed 's|.*/\([0-9]*\)_.*|\1|')" = "$migration" ] ||
	fail "migration $migration isn't the newest one of commit $commit"
for file in db/migrations/*.sql; do
	number=$(echo "$file" | sed 's|.*/\([0-9]*\)_.*|\1|')
	# Numbers have leading zeros and one length, so the order of texts is theirs.
	if [ "$number" \> "$migration" ] || [ ! "$number" \> "$base" ]; then continue; fi
	echo "$theirs" | grep -qxF "$file" ||
		fail "$file came after the previous release, so its number must be above $migration"
	git diff --quiet "$commit" -- "$file" || fail "$file was released and is changed: write another migration"
done

if [ ! -x "$binary" ]; then
	echo "Building the previous release, $commit; this takes some minutes" >&2
	source=$(mktemp -d)
	trap 'rm -rf "$source"' EXIT
	git archive "$commit" | tar -x -C "$source"
	(cd "$source" &&
		npm ci --include=dev --ignore-scripts --no-update-notifier --loglevel=error >/dev/null &&
		npm run --silent build >/dev/null &&
		go tool templ generate -path views -log-level error &&
		go build -buildvcs=false -trimpath -ldflags "-X main.version=previous" -o candor ./cmd/candor)
	mkdir -p bin
	mv "$source/candor" "$binary"
fi
echo "$PWD/$binary"
