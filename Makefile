# `make help` lists the targets. Each target installs what it needs.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.NOTPARALLEL:

# A release sets it: make build VERSION=1.2.3
VERSION ?=
# One kind of build for all targets: without it the standard library is built a second time.
export GOFLAGS := -trimpath $(GOFLAGS)
# In another user's checkout Git refuses to run, and go build fails without this.
BUILDVCS := -buildvcs=$(shell git status >/dev/null 2>&1 && echo auto || echo false)
# Without symbols for debuggers, a fifth of the program. Traces and profiles don't need them.
LDFLAGS := -ldflags "-s -w $(if $(VERSION),-X main.version=$(VERSION))"

FRONT := static/dist/manifest.json
TEMPLATES := bin/templates
GENERATED := $(FRONT) $(TEMPLATES)
GENERATORS := tools/openapi/node_modules/.package-lock.json examples/node/node_modules/.package-lock.json
TOOL := go tool -modfile=tools/lint.mod
SETUP := @sh scripts/setup.sh

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: build ## Set up, build, and serve on http://localhost:8080
	$(SETUP) postgres
	@bin/candor serve

.PHONY: dev
dev: $(FRONT) ## Serve on http://localhost:7331; rebuild and reload at each save
	$(SETUP) go postgres
	@mkdir -p bin
	@CANDOR_ADDR=localhost:8080 CANDOR_BASE_URL=http://localhost:7331 \
	go tool templ generate --watch --log-level warn --cmd="sh scripts/dev.sh" --proxy=http://localhost:8080 --open-browser=false \
		--watch-pattern='(\.go|\.templ|/static/(css|js|img)/.+)$$' --ignore-pattern='(_test\.go|_templ\.go)$$'

.PHONY: seed
seed: build ## Fill the development database with a demo partner
	$(SETUP) postgres
	@bin/candor demo seed

.PHONY: build
build: $(GENERATED) ## Build bin/candor and its bill of materials
	$(SETUP) go
	@[ -x bin/candor ] || echo "Building Candor; the first time takes a few minutes" >&2
	@go build $(BUILDVCS) $(LDFLAGS) -o bin/candor ./cmd/candor
	@go run ./tools/sbom -binary bin/candor -version "$(VERSION)" -o bin/candor.cdx.json

# The linters look by themselves, and symbols for debuggers are half of linking's time.
QUICK := -vet=off -ldflags=-w

# The packages of tests whose names begin so.
PACKAGES_WITH = $$(grep -rlE --include='*_test.go' --exclude-dir=node_modules '^func $(1)' . | xargs -n1 dirname | sort -u)

# Drills wait more than they compute, and compilers of other languages don't: they share a run.
DRILLS := ^Test(Drill|Toolchain)

# What tests need.
NEEDS = go node cc postgres chromium pdftools prometheus python redis pgbouncer caddy nginx aptrepo

# Packages that start goroutines or share what they change, and the API's, whose tests run
# the code of most others with the race detector. It makes demo data ten times as slow.
SHARING = $$(grep -rlE '^\s*go [a-z(]|sync\.(RW|Mutex|W)|atomic\.' --include='*.go' --exclude='*_test.go' cmd db handlers internal jobs static \
	| xargs -n1 dirname | sort -u | grep -vE 'internal/(testkit|demo)' | sed 's|^|./|') ./handlers/api

.PHONY: test
test: $(GENERATED) $(GENERATORS) ## Run every test but the drills, with Chromium
	$(SETUP) $(NEEDS)
	PRISM=yes go test $(QUICK) -timeout 30m -parallel 4 -skip '$(DRILLS)' ./...

.PHONY: race
race: $(GENERATED) $(GENERATORS) ## Run the tests of what runs at the same time with the race detector
	$(SETUP) $(NEEDS)
	PRISM=yes go test -race $(QUICK) -timeout 30m -skip '$(DRILLS)|^TestPlan' $(SHARING)

.PHONY: unraced
unraced: $(GENERATED) $(GENERATORS) ## Run the tests that are neither drills nor race's
	$(SETUP) $(NEEDS)
	go test $(QUICK) -timeout 30m -parallel 4 -skip '$(DRILLS)' $$(go list ./... | grep -vxF "$$(go list $(SHARING))")
	go test $(QUICK) -run '^TestPlan' $(call PACKAGES_WITH,TestPlan)

.PHONY: drills
drills: $(GENERATED) $(GENERATORS) bin/toxiproxy-server ## Kill, freeze and restore while the service is used, and run the clients of all languages
	$(SETUP) $(NEEDS)
	go test $(QUICK) -timeout 30m -parallel 6 -run '$(DRILLS)' -skip '^TestDrill(HighAvailability|Alerts)' $(call PACKAGES_WITH,Test(Drill|Toolchain))

.PHONY: test-fast
test-fast: $(GENERATED) ## Run the tests that need no browser, without the slow ones and the race detector
	$(SETUP) go postgres pdftools
	go test $(QUICK) -short -skip '^Test(Browser|Drill|Toolchain|Plan)' ./...

.PHONY: check
check: check-format lint check-htmx race unraced drills check-vulnerabilities ## Run everything that a change must pass, each test once

.PHONY: check-format
check-format:
	$(SETUP) go
	@unformatted=$$(git ls-files -co --exclude-standard '*.go' | xargs gofmt -l); \
	if [ -n "$$unformatted" ]; then echo "not formatted, run gofmt -w on:"; echo "$$unformatted"; exit 1; fi
	go tool templ fmt -log-level error -fail views

.PHONY: lint
lint: $(GENERATED) ## Run the linters
	$(SETUP) go
	$(TOOL) golangci-lint run --build-tags upgrade

.PHONY: check-s3
check-s3: $(GENERATED) bin/versitygw ## Run the tests of documents on an S3 service, versitygw
	$(SETUP) go postgres
	VERSITYGW=$(CURDIR)/bin/versitygw go test -count=1 ./internal/platform/blob ./internal/vault
	VERSITYGW=$(CURDIR)/bin/versitygw go test -count=1 -run 'Document|Blob|Upload|Garbage|Retention|Retire' ./jobs ./internal/service/forms ./cmd/candor/admin
	VERSITYGW=$(CURDIR)/bin/versitygw go test -count=1 -run RestoreWithDocumentsInS3 ./cmd/candor

.PHONY: check-ha
check-ha: $(GENERATED) bin/toxiproxy-server ## Strike Patroni, etcd and HAProxy ten times with each fault, and see alerts fire; ROUNDS=1; needs root
	$(SETUP) go postgres redis prometheus ha
	go test $(QUICK) -count=1 -timeout 0 -v -run '^TestDrill(HighAvailability|Alerts)' ./cmd/candor -ha-rounds=$(or $(ROUNDS),10)

.PHONY: check-upgrade
check-upgrade: $(GENERATED) ## Upgrade the previous release to this one under traffic, go back and upgrade again; FOR=1m for longer phases
	$(SETUP) go node postgres
	@previous=$$(sh scripts/build-previous.sh) && \
	go test -tags upgrade -count=1 -timeout 0 -v ./tools/upgrade -previous="$$previous" -for=$(or $(FOR),8s)

.PHONY: check-htmx
check-htmx: $(GENERATED) ## Check for attributes and values that htmx doesn't know
	$(SETUP) go
	npm run --silent check:htmx
	go test ./views/ui -run '^TestHtmx'

.PHONY: check-vulnerabilities
check-vulnerabilities: $(GENERATED)
	$(SETUP) go
	@sh scripts/check-vulnerabilities.sh

.PHONY: vulnerabilities
vulnerabilities: $(GENERATED) ## Check for known vulnerabilities and record the date
	$(SETUP) go
	@sh scripts/check-vulnerabilities.sh note

.PHONY: generate
generate: $(GENERATED) ## Generate what isn't in Git, for an editor, and db/schema.sql
	$(SETUP) go postgres
	go test ./db -run TestSchemaDump -update
	go run ./tools/sdk

.PHONY: bench
bench: build ## Run the benchmarks, each with its reference
	$(SETUP) postgres
	@go run ./tools/bench
	@go test ./views/pdf -run '^$$' -bench Render -cpu 1

.PHONY: bench-rivals
bench-rivals: build bin/pocketbase ## Measure POST and GET beside PocketBase in the same run
	$(SETUP) postgres
	@go run ./tools/bench -only rivals

.PHONY: attack
attack: build ## Attack a running service and compare the results with the limits
	$(SETUP) postgres
	@go run ./tools/attack

.PHONY: fuzz
fuzz: $(GENERATED) ## Send generated requests for a minute; FOR=1h and SEED=2 for longer and others
	$(SETUP) go postgres
	go test -count=1 -timeout 0 -v ./tools/fuzz -for=$(or $(FOR),1m) -seed=$(or $(SEED),1)

.PHONY: soak
soak: $(GENERATED) bin/versitygw bin/toxiproxy-server ## Use the service for a minute while everything fails at random; FOR=30m, FAULTS=1000, SEED=7
	$(SETUP) go postgres redis pdftools
	@go build -tags soak $(BUILDVCS) -o bin/candor-soak ./cmd/candor
	@go run ./tools/soak -for=$(or $(FOR),0) -faults=$(or $(FAULTS),0) -seed=$(or $(SEED),1)

.PHONY: sdks
sdks: $(GENERATED) $(GENERATORS) ## Pack the SDKs for partners into dist/; VERSION=1.2.3 for a release
	$(SETUP) go node
	@sh scripts/pack-sdks.sh "$(or $(VERSION),0.0.0)" dist

.PHONY: packages
packages: $(GENERATED) $(GENERATORS) ## Build binaries, archives, deb, rpm, SDKs and checksums into dist/; VERSION=1.2.3 for a release
	$(SETUP) go
	@sh scripts/packages.sh $(VERSION)

.PHONY: check-packages
check-packages: $(GENERATED) $(GENERATORS) check-kubernetes ## Install, upgrade, run and remove the packages and the image on a bare Debian; RELEASE=trixie, needs root
	$(SETUP) go pdftools aptrepo packagetools
	@bash scripts/check-packages.sh

.PHONY: check-kubernetes
check-kubernetes: ## Check the manifests for Kubernetes
	$(SETUP) go
	cd tools/kubernetes && go test ./...

.PHONY: screenshots
screenshots: $(GENERATED) ## Take pictures of every page into artifacts/, and those of the README
	$(SETUP) go postgres chromium pdftools
	go test -count=1 -run '^Test(Browser|DemoPartner)' $(call PACKAGES_WITH,TestBrowser) ./handlers -pictures

.PHONY: clean
clean: ## Remove build results; .data, the development data, stays
	rm -rf bin dist artifacts node_modules tools/openapi/node_modules tools/openapi/generated tools/openapi/goclient/generated tools/openapi/goclient/ogen/generated sdk/go/generated.go sdk/node/src/generated.ts
	find static/dist views/pdf/fonts -type f ! -name .gitkeep -exec rm -f {} +
	find views -name '*_templ.go' -delete

# What only tests and benchmarks need: an S3 service, a proxy that makes networks worse,
# and a program to compare with.
bin/versitygw: tools/s3.mod
	$(SETUP) go
	@echo "Building versitygw; the first time takes a few minutes" >&2
	@go build -modfile=tools/s3.mod -o $@ github.com/versity/versitygw/cmd/versitygw
bin/toxiproxy-server: tools/toxiproxy.mod
	$(SETUP) go
	@go build -modfile=tools/toxiproxy.mod -o $@ github.com/Shopify/toxiproxy/v2/cmd/server
bin/pocketbase: tools/pocketbase.mod
	$(SETUP) go
	@echo "Building PocketBase; the first time takes a few minutes" >&2
	@go build -modfile=tools/pocketbase.mod -o $@ github.com/pocketbase/pocketbase/examples/base

# npm writes this file after a complete install.
node_modules/.package-lock.json: package.json package-lock.json
	$(SETUP) node
	@npm ci --include=dev --ignore-scripts --no-update-notifier --loglevel=error >/dev/null
	@touch $@

# Linters, generators and a proxy for the API's description, which only tests need.
$(GENERATORS): %/node_modules/.package-lock.json: %/package.json %/package-lock.json
	$(SETUP) node
	@cd $* && npm ci --include=dev --ignore-scripts --no-update-notifier --loglevel=error >/dev/null
	@touch $@

$(FRONT): node_modules/.package-lock.json static/build.mjs $(shell find static/css static/js static/img -type f)
	@npm run --silent build >/dev/null

# The templates' Go code.
$(TEMPLATES): go.mod tools/templates/main.go $(shell find views -name '*.templ')
	$(SETUP) go
	@mkdir -p bin
	@go run ./tools/templates
	@touch $@
