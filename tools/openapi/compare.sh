#!/bin/sh
# Prints what linters and generators make of OpenAPI documents: compare.sh FILE...
# A file's references must lead nowhere else (redocly bundle makes one of several).
cd "$(dirname "$0")" || exit 1
PATH=$PWD/node_modules/.bin:$PATH
out=goclient/generated/compare
count() { node -e 'let s = ""; process.stdin.on("data", (d) => (s += d)).on("end", () => console.log(JSON.parse(s).length))'; }
passes() { if "$@" >$out/log 2>&1; then echo yes; else (tail -n 1 $out/log; grep -oE 'Feature "[^"]+"|error TS[0-9]+|undefined|redeclared|[Ee]rror: .{0,60}' $out/log | sort | uniq -c | sort -rn) | grep . | tail -n 1; fi; }
generated() { # KIND COMMAND...: whether it generates, and whether that compiles
	kind=$1 && shift
	made=$(passes "$@")
	[ "$made" = yes ] || { echo "fails: $made"; return; }
	case $kind in
	go) compiled=$(passes go -C goclient vet "./${out#goclient/}/$dir") ;;
	ts) compiled=$(passes tsc --strict --skipLibCheck --noEmit --target es2022 --module esnext --moduleResolution bundler --types node $files) ;;
	esac
	[ "$compiled" = yes ] && echo compiles || echo "doesn’t compile: $compiled"
}
for file in "$@"; do
	rm -rf $out && mkdir -p $out/ogen $out/oapi
	echo "$file"
	echo "  redocly recommended-strict: $(redocly lint --extends recommended-strict --skip-rule no-server-example.com --format json "$file" 2>/dev/null | node -e 'let s = ""; process.stdin.on("data", (d) => (s += d)).on("end", () => { const { totals } = JSON.parse(s.slice(s.indexOf("{"))); console.log(totals.errors + totals.warnings) })')"
	for rules in spectral:oas @stoplight/spectral-owasp-ruleset; do
		echo "extends: [\"$rules\"]" >ruleset.yaml
		echo "  $rules: $(spectral lint --quiet --ruleset ruleset.yaml --format json --fail-severity error "$file" 2>/dev/null | count)"
	done
	rm ruleset.yaml
	dir=ogen && echo "  ogen: $(generated go go -C goclient tool ogen -config ogen/ogen.yaml -target "$PWD/$out/ogen" -package generated -clean "$file")"
	dir=oapi && echo "  oapi-codegen: $(generated go go -C goclient tool oapi-codegen -generate types,client -package generated -o "$PWD/$out/oapi/client.go" "$file")"
	files=$out/api.ts && echo "  openapi-typescript: $(generated ts openapi-typescript "$file" --output $out/api.ts)"
	files="$out/hey/index.ts $out/hey/zod.gen.ts" && echo "  hey-api: $(generated ts openapi-ts --input "$file" --output $out/hey --plugins @hey-api/client-fetch @hey-api/sdk @hey-api/typescript zod)"
	files=$out/orval.ts && echo "  orval: $(generated ts orval --input "$file" --output $out/orval.ts --client fetch)"
	files=$out/zod.ts && echo "  orval, zod: $(generated ts orval --input "$file" --output $out/zod.ts --client zod)"
done
