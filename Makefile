# The commands of the project: `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO ?= go
GOARCH_LAMBDA ?= arm64
DIST ?= dist
FUNCTIONS := enqueue sort sweep process delivery ack webhook source
# What deploys, and what the local stack builds: the same flags. lambda.norpc leaves
# out the interface of a retired runtime, and nethttpomithttp2 the half of net/http
# that DynamoDB and Lambda's runtime do not speak. Lambda's arm64 processors have the
# atomic operations of ARMv8.1: without the other way to do them, functions are smaller.
LAMBDA_FLAGS := -buildvcs=false -trimpath -tags lambda.norpc,nethttpomithttp2 -ldflags "-s -w"
LAMBDA_BUILD = GOOS=linux GOARCH=$(1) GOARM64=v8.1 CGO_ENABLED=0 $(GO) build $(LAMBDA_FLAGS)
# Programs that start the local stack have the functions' flags, so that what both are
# made of is compiled once.
LOCAL_RUN := CGO_ENABLED=0 $(GO) run $(LAMBDA_FLAGS)
# infra/cdk/cdk.json says the same to those who call the CDK themselves.
export CDK_DISABLE_CLI_TELEMETRY := true
TOOL := $(GO) tool -modfile=tools/go.mod

# Where the demo's messages come from, who moves the cursors, and whether
# processes are killed.
INPUT ?=
MODE ?= sync
CHAOS ?=
# ORDER=arrival leaves the messages' numbers out: the queues give them. ORDER=key gives
# them times instead, by which the queues sort them.
ORDER ?=
# TRACKED=1 commits each batch only when the work of its messages is done.
TRACKED ?=
# STAY=1 leaves the stack and its live page up.
STAY ?=
export INPUT MODE CHAOS ORDER TRACKED STAY

.PHONY: help
help: ## list the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

%/node_modules/.installed: %/package.json %/package-lock.json
	cd $* && npm ci --no-progress --loglevel=error --no-fund --no-audit --no-update-notifier
	@mkdir -p $(@D) && touch $@

INSTALLED := node_modules/.installed
SERVERS := dynoxide dynamodb-local
.PHONY: deps
deps: $(SERVERS:%=internal/dev/localdb/servers/%/$(INSTALLED)) internal/dev/localpg/$(INSTALLED) internal/dev/payloads/$(INSTALLED) ## install the local DynamoDB-compatible servers

.PHONY: deps-browser
deps-browser: internal/dev/browser/$(INSTALLED)

.PHONY: deps-infra
deps-infra: infra/cdk/node_modules/.installed infra/cdk/nag/node_modules/.installed

.PHONY: build
build: ## compile the functions for Lambda (arm64)
	@for f in $(FUNCTIONS); do \
		echo "build $$f ($(GOARCH_LAMBDA))"; \
		$(call LAMBDA_BUILD,$(GOARCH_LAMBDA)) -o $(DIST)/$(GOARCH_LAMBDA)/$$f/bootstrap ./functions/$$f; \
	done

.PHONY: build-traced
build-traced: ## compile process with OpenTelemetry in it, in place of the one that make build makes
	@mkdir -p $(DIST)/$(GOARCH_LAMBDA)/process
	@printf '{"Replace":{"%s":"%s"}}' $(CURDIR)/functions/process/otel.go $(CURDIR)/functions/process/_otel/instrument.go > $(DIST)/otel.overlay.json
	@echo "build process with OpenTelemetry ($(GOARCH_LAMBDA))"
	@cd pkg/delivery/otel && $(call LAMBDA_BUILD,$(GOARCH_LAMBDA)) -overlay $(abspath $(DIST))/otel.overlay.json \
		-o $(abspath $(DIST))/$(GOARCH_LAMBDA)/process/bootstrap github.com/streamsort/streamsort/functions/process

# What the command line is released for.
CLI_TARGETS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

.PHONY: cross
cross: ## compile the command line for Linux, macOS and Windows, amd64 and arm64: minutes the first time
	@mkdir -p .build
	@for target in $(or $(TARGETS),$(CLI_TARGETS)); do \
		echo "streamsort ($$target)"; \
		GOOS=$${target%/*} GOARCH=$${target#*/} CGO_ENABLED=0 $(GO) build -ldflags "-s -w" -o .build/cross ./cmd/streamsort; \
	done

.PHONY: demo
demo: deps ## run the whole thing here: INPUT=file.ndjson MODE=sync|async CHAOS=1 ORDER=number|arrival TRACKED=1 STAY=1
	@$(LOCAL_RUN) ./examples/demo

# Settings of scenarios are variables of make: S="load outage" RATE=500 MINUTES=90.
S ?=
SHORT ?=
export SHORT
.PHONY: verify
verify: deps ## show what the stack withstands: S=soak, load, outage, …, without S a list of all with their settings (SHORT=1: each in seconds)
	@$(LOCAL_RUN) ./verify/robust $(S)

.PHONY: local
local: deps ## start the local stack and leave it running (ARGS='--port 3001')
	@CGO_ENABLED=0 $(GO) build $(LAMBDA_FLAGS) -o .build/streamsort ./cmd/streamsort
	@exec .build/streamsort local $(ARGS)

# go test ./... starts nothing. make test is what a developer runs before a commit: the same
# on a server too, and the templates. make check leaves nothing out: the tag whole.
WHOLE := -tags whole
# What the tests of the stack read lies outside of their modules, where the go command
# does not see that it has changed.
UNCACHED := -count=1
# Tests that wait for servers leave a processor to others.
AT_ONCE := -p 4

.PHONY: test
# CI runs make check too, which leaves nothing out: there each test runs once.
ifdef CI
test: test-whole
else
test: deps ## the tests to run before a commit: go test ./... on a server too, and the templates
	$(GO) vet $(WHOLE) ./...
	STREAMSORT_SERVERS=any $(GO) test -timeout 60m ./...
	cd pkg/dedup/dedupotel && $(GO) test ./...
	cd pkg/delivery/otel && $(GO) test ./...
	cd infra/cdk && $(GO) test $(UNCACHED) -timeout 60m ./...
endif

.PHONY: check
check: lint test-whole deploy-local ## all that CI runs: lint, the command line for macOS and Windows, every test whole, a deployment, a new user, planted bugs, dropped clauses, the short forms of soak, outage and load
	@$(MAKE) --no-print-directory cross TARGETS="darwin/arm64 windows/amd64"
	@$(MAKE) --no-print-directory newcomer
	@$(MAKE) --no-print-directory mutants CHANGED=1 FOR=2m
	@$(MAKE) --no-print-directory mutants CLAUSES=1
	@$(MAKE) --no-print-directory verify S="soak outage load" SHORT=1

.PHONY: test-whole
test-whole: deps deps-infra deps-browser ## every test, whole
	$(GO) vet $(WHOLE) ./...
	$(GO) test $(WHOLE) $(AT_ONCE) -timeout 60m ./...
	cd pkg/dedup/dedupotel && $(GO) vet ./... && $(GO) test ./...
	cd pkg/delivery/otel && $(GO) vet $(WHOLE) ./... && $(GO) test $(WHOLE) ./...
	cd infra/cdk && $(GO) vet $(WHOLE) ./... && $(GO) test $(WHOLE) $(UNCACHED) -timeout 60m ./...
	cd examples/shop && $(GO) vet $(WHOLE) ./... && $(GO) test $(WHOLE) $(UNCACHED) -timeout 60m ./...

# make sim FULL=1 walks the large scenarios as well; SEED=… repeats one schedule,
# SUITE=cursor (log, delivery, twophase, replies, dedup, xorack) walks
# one part only.
SUITE ?=
export SUITE
FULL ?=
SEED ?=
RUNS ?=
.PHONY: sim
sim: ## simulate, for minutes: every schedule of small cases, a million random ones (FULL=1, SEED=…)
	@$(GO) run ./verify/sim/cmd/sim $(if $(FULL),-full) $(if $(SEED),-seed $(SEED)) $(if $(RUNS),-runs $(RUNS))

.PHONY: sources
sources: ## take 100,000 shuffled records of each source of AWS: none lost, none out of order, at what the same puts cost (EVENTS=n)
	@$(GO) test ./functions/source -run TestManyRecords -count=1 -v -timeout 60m -args -events $(or $(EVENTS),100000)

.PHONY: bench
bench: deps ## count and measure for minutes, and write docs/reference/figures.md: cost of each operation, size, start, throughput (ONLY=counts: what is the same in every run; ONLY=deduplication|acks|claims|function|throughput|queue|latency: one table)
	@$(GO) run ./verify/bench $(if $(ONLY),-only $(ONLY))

.PHONY: screenshots
screenshots: deps deps-browser ## draw every screen of the live page, light and dark, wide and narrow, into .build/screenshots, and the two of the README
	@mkdir -p .build/screenshots
	@SCREENSHOTS=$(CURDIR)/.build/screenshots $(GO) test $(WHOLE) ./verify/page -count=1 -run TestPage/every
	@cp .build/screenshots/overview-wide-light-top.png docs/page-overview.png
	@cp .build/screenshots/gaps-wide-dark-top.png docs/page-queue.png

.PHONY: bench-page
bench-page: deps deps-browser ## measure the live page in a browser, on DynamoDB Local with QUEUES=100000: the first page of a list, and redraws at 50 messages a second
	@QUEUES=$(QUEUES) $(GO) test $(WHOLE) ./verify/page -run '^$$' -bench Page -benchtime 1x

# make cost RATE=100 BATCH=25 DISORDER=8 QUEUES=100: docs/reference/cost.md says what each means.
BATCH ?= 1
DISORDER ?= 0
.PHONY: cost
cost: ## print dollars a month: RATE=… BATCH=… DISORDER=0|8|32|reverse|random QUEUES=… DOOR=api|url LOGS=outcome|all TRACING=off|on WINDOW=1s LINGER=10ms ORDER=key SETTLE=5s (PAGE=1: write the tables of docs/reference/cost.md)
	@$(GO) run ./verify/bench/cost -rate $(or $(RATE),100) -batch $(BATCH) -disorder $(DISORDER) -queues $(or $(QUEUES),100) -order $(or $(ORDER),number) -settle $(or $(SETTLE),5s) -door $(or $(DOOR),api) -logs $(or $(LOGS),outcome) -tracing $(or $(TRACING),off) $(if $(PAGE),-page) -window $(or $(WINDOW),0s) -linger $(or $(LINGER),0s)

.PHONY: mutants
mutants: ## plant known bugs, one at a time: each must turn the tests red (CHANGED=1: of what changed, and what operators make of it; FOR=3m: what can be begun in this time; CLAUSES=1: each clause of the stores' requests; PKG=./pkg/xorack: what operators make of a package, BY=./verify/sim/xoracksim SAMPLE=60 UPDATE=1)
	@$(GO) run ./verify/mutant $(if $(CHANGED),-changed) $(if $(FOR),-for $(FOR)) $(if $(CLAUSES),-clauses) \
		$(if $(PKG),-pkg $(PKG)) $(if $(BY),-by $(BY)) $(if $(SAMPLE),-sample $(SAMPLE)) $(if $(PKG),$(if $(UPDATE),-update))

.PHONY: fuzz
fuzz: ## look for inputs that break the readers, 20 seconds each
	@grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -n1 dirname | sort -u | while read -r folder; do \
		for target in $$(grep -hoE '^func Fuzz[A-Za-z]+' $$folder/*_test.go | cut -c6-); do \
			echo "fuzz $$folder $$target"; \
			$(GO) test $$folder -run '^$$' -fuzz "^$$target$$" -fuzztime 20s; \
		done; \
	done

.PHONY: race
race: deps ## run the tests of the packages with goroutines under the race detector
	$(GO) test -race $(WHOLE) -timeout 60m ./pkg/... ./internal/... ./functions/... ./localstack/...

.PHONY: lint
lint: ## check format, style and that go.mod is tidy
	$(TOOL) golangci-lint run ./...
	cd infra/cdk && $$(cd ../.. && $(TOOL) -n golangci-lint) run ./...
	cd pkg/dedup/dedupotel && $$(cd ../../.. && $(TOOL) -n golangci-lint) run ./...
	cd pkg/delivery/otel && $$(cd ../../.. && $(TOOL) -n golangci-lint) run ./...
	cd examples/shop && $$(cd ../.. && $(TOOL) -n golangci-lint) run ./...
	@$(GO) run ./verify/size -check
	$(GO) mod tidy -diff
	@for folder in infra/cdk examples/shop pkg/dedup/dedupotel pkg/delivery/otel; do ./.ci/tidy $$folder || exit 1; done

.PHONY: size
size: ## count how much there is to know, beside the counts that may only fall (UPDATE=1 writes what fell; WHY="…" what rose)
	@$(GO) run ./verify/size $(if $(UPDATE),-update) $(if $(WHY),-why "$(WHY)")

.PHONY: clients
clients: ## test the packages for Python and Node, hold them to the cases of all producers, and build them
	$(GO) test $(WHOLE) -timeout 60m ./clients ./verify/producer

.PHONY: newcomer
newcomer: ## do what a new user does, from an empty folder: library, command line, a function in each language, an app of the CDK (COLD=1: on a new machine)
	@$(GO) run ./verify/newcomer

.PHONY: tag
tag: ## commit and tag a release of all modules, and push nothing: VERSION=v1.2.3
	@./.ci/tag $(VERSION)

.PHONY: vuln
vuln: ## look for known vulnerabilities in what is called (needs vuln.go.dev)
	$(TOOL) govulncheck ./...
	cd infra/cdk && $$(cd ../.. && $(TOOL) -n govulncheck) ./...
	cd examples/shop && $$(cd ../.. && $(TOOL) -n govulncheck) ./...
	cd pkg/dedup/dedupotel && $$(cd ../../.. && $(TOOL) -n govulncheck) ./...
	cd pkg/delivery/otel && $$(cd ../../.. && $(TOOL) -n govulncheck) ./...

.PHONY: sbom
sbom: ## write the bill of materials, CycloneDX: dist/streamsort.cdx.json
	@mkdir -p dist
	$(GO) tool -modfile=tools/release/go.mod cyclonedx-gomod mod -json -output dist/streamsort.cdx.json .

.PHONY: template
template: ## renew the golden template and its patches from infra/cdk
	cd infra/cdk && $(GO) test . -run TestGolden -update

# With TRACED=1, process has OpenTelemetry in it.
.PHONY: synth
synth: build $(if $(TRACED),build-traced) infra/cdk/node_modules/.installed ## synthesise the stack, offline (ARGS=…, TRACED=1)
	cd infra/cdk && npx cdk synth --quiet $(ARGS)

.PHONY: deploy
deploy: build $(if $(TRACED),build-traced) infra/cdk/node_modules/.installed ## deploy the stack to the AWS account of the environment (ARGS=…, TRACED=1)
	@$(GO) run ./infra/deploy $(ARGS)

.PHONY: deploy-local
deploy-local: infra/cdk/node_modules/.installed ## deploy, change and destroy the stack without an AWS account, by the CDK and by the file of a release: INPUT=file.ndjson
	@$(GO) run ./localstack/deploylocal

.PHONY: clean
clean: ## remove what was built
	rm -rf dist .build infra/cdk/cdk.out examples/shop/dist examples/shop/cdk.out
