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
# made of is compiled once. What they start themselves is built as usual.
LOCAL_RUN := CGO_ENABLED=0 $(GO) run -exec 'env -u CGO_ENABLED' $(LAMBDA_FLAGS)
# infra/cdk/cdk.json says the same to those who call the CDK themselves.
export CDK_DISABLE_CLI_TELEMETRY := true
TOOL := $(GO) tool -modfile=tools/go.mod

%/node_modules/.installed: %/package.json %/package-lock.json
	cd $* && npm ci --no-progress --loglevel=error --no-fund --no-audit --no-update-notifier
	@mkdir -p $(@D) && touch $@

INSTALLED := node_modules/.installed
INSTALL := $(patsubst %,internal/dev/%/$(INSTALLED),localdb/servers/dynoxide localdb/servers/dynamodb-local localpg payloads)
INSTALL_CDK := infra/cdk/$(INSTALLED) infra/cdk/nag/$(INSTALLED)
INSTALL_BROWSER := internal/dev/browser/$(INSTALLED)

# The modules below the first one.
MODULES := infra/cdk examples/shop pkg/dedup/dedupotel pkg/delivery/otel

# A heading is a line that begins with "##", what a command does stands behind its "##".
.PHONY: help
help:
	@awk -F ':.*## ' '/^## /{print "\n" substr($$0, 4)} /^[a-z-]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

## Run
# INPUT=file.ndjson: where the messages come from. MODE=sync|async: who moves the cursors.
# CHAOS=1: processes are killed. STAY=1 leaves the stack and its page up.
INPUT ?=
MODE ?= sync
CHAOS ?=
STAY ?=
export INPUT MODE CHAOS STAY
.PHONY: demo
demo: deps ## run the main job here (CHAOS=1, STAY=1)
	@$(LOCAL_RUN) ./examples/demo

.PHONY: local
local: deps ## start the local stack (ARGS='--port 3001')
	@CGO_ENABLED=0 $(GO) build $(LAMBDA_FLAGS) -o .build/streamsort ./cmd/streamsort
	@exec .build/streamsort local $(ARGS)

# With TRACED=1, process has OpenTelemetry in it.
.PHONY: build
build: ## compile the functions for Lambda (TRACED=1)
	@for f in $(FUNCTIONS); do \
		echo "build $$f ($(GOARCH_LAMBDA))"; \
		$(call LAMBDA_BUILD,$(GOARCH_LAMBDA)) -o $(DIST)/$(GOARCH_LAMBDA)/$$f/bootstrap ./functions/$$f; \
	done
ifdef TRACED
	@mkdir -p $(DIST)
	@printf '{"Replace":{"%s":"%s"}}' $(CURDIR)/functions/process/otel.go $(CURDIR)/functions/process/_otel/instrument.go > $(DIST)/otel.overlay.json
	@echo "build process with OpenTelemetry ($(GOARCH_LAMBDA))"
	@cd pkg/delivery/otel && $(call LAMBDA_BUILD,$(GOARCH_LAMBDA)) -overlay $(abspath $(DIST))/otel.overlay.json \
		-o $(abspath $(DIST))/$(GOARCH_LAMBDA)/process/bootstrap github.com/streamsort/streamsort/functions/process
endif

.PHONY: synth
synth: build infra/cdk/$(INSTALLED) ## write the stack's template (ARGS='-c …')
	cd infra/cdk && npx cdk synth --quiet $(ARGS)

.PHONY: deploy
deploy: build infra/cdk/$(INSTALLED) ## deploy to your AWS account (ARGS='-c …')
	@$(GO) run ./infra/deploy $(ARGS)

## Prove
# go test ./... starts nothing. make test is what a developer runs before a commit: the same
# on a server too, and the templates. WHOLE=1 leaves nothing out but go vet, which make lint has.
# RACE=1: the packages with goroutines, under the race detector. FUZZ=20s looks so long for inputs
# that break each reader.
TAGS := $(if $(WHOLE)$(RACE),-tags whole)
# What the tests of the stack read lies outside of their modules, where the go command
# does not see that it has changed.
UNCACHED := -count=1
.PHONY: test
test: deps $(if $(WHOLE),$(INSTALL_CDK) $(INSTALL_BROWSER)) ## test before a commit (WHOLE=1, FUZZ=20s)
ifdef FUZZ
	@grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -n1 dirname | sort -u | while read -r folder; do \
		for target in $$(grep -hoE '^func Fuzz[A-Za-z]+' $$folder/*_test.go | cut -c6-); do \
			echo "fuzz $$folder $$target"; \
			$(GO) test $$folder -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZ); \
		done; \
	done
else ifdef RACE
	$(GO) test -race $(TAGS) -timeout 60m ./pkg/... ./internal/... ./functions/... ./localstack/...
else
	$(if $(WHOLE),,$(GO) vet -tags whole ./...)
	$(if $(WHOLE),,STREAMSORT_SERVERS=any) $(GO) test $(TAGS) $(if $(WHOLE),-p 4) -timeout 60m ./...
	@for module in $(if $(WHOLE),$(MODULES),$(filter-out examples/shop,$(MODULES))); do \
		(cd $$module && $(GO) test $(TAGS) $(UNCACHED) -timeout 60m ./...); \
	done
endif

.PHONY: check
check: lint ## all that CI runs
	@$(MAKE) --no-print-directory test WHOLE=1
	@$(MAKE) --no-print-directory release PART=cross TARGETS=windows/amd64
	@$(MAKE) --no-print-directory mutants CHANGED=1 FOR=1m
	@$(MAKE) --no-print-directory mutants CLAUSES=1
	@$(MAKE) --no-print-directory verify S="deploy newcomer soak outage load" SHORT=1

.PHONY: lint
lint: ## check format, style and tidy modules
	$(TOOL) golangci-lint run ./...
	@$(GO) run ./verify/size -check
	$(GO) mod tidy -diff
	@linter=$$($(TOOL) -n golangci-lint); for module in $(MODULES); do \
		(cd $$module && $$linter run ./...); ./.ci/tidy $$module; \
	done

# Settings of scenarios are variables of make: S="load outage" RATE=500 MINUTES=90. SHORT=1: each
# in seconds. Without S a list of all with their settings.
S ?=
SHORT ?=
SUITE ?=
export SHORT SUITE
.PHONY: verify
verify: deps $(if $(filter deploy,$(S)),infra/cdk/$(INSTALLED)) $(if $(filter incident,$(S)),$(INSTALL_BROWSER)) ## run scenarios (S=soak), or list them
	@$(LOCAL_RUN) ./verify/robust $(S)

# CHANGED=1: of what changed. FOR=3m: what can be begun in this time. CLAUSES=1: each clause of the
# stores' requests.
.PHONY: mutants
mutants: ## plant bugs that tests must catch
	@$(GO) run ./verify/mutant $(if $(CHANGED),-changed) $(if $(FOR),-for $(FOR)) $(if $(CLAUSES),-clauses)

## Measure
# ONLY=counts: what is the same in every run. ONLY=function|queue|latency: one table.
# ONLY=page QUEUES=100000: the live page in a browser, on DynamoDB Local.
# ONLY=screenshots: each screen of the page into .build/screenshots, and the two of the README.
MEASURES := counts function queue latency page screenshots
.PHONY: bench
bench: deps $(if $(filter page screenshots,$(ONLY)),$(INSTALL_BROWSER)) ## measure for docs/reference/figures.md
ifneq ($(filter-out $(MEASURES),$(ONLY)),)
	$(error ONLY is $(ONLY): write one of $(MEASURES))
else ifeq ($(ONLY),page)
	@QUEUES=$(QUEUES) $(GO) test -tags whole ./verify/page -run '^$$' -bench Page -benchtime 1x
else ifeq ($(ONLY),screenshots)
	@mkdir -p .build/screenshots
	@SCREENSHOTS=$(CURDIR)/.build/screenshots $(GO) test -tags whole ./verify/page -count=1 -run TestPage/every
	@cp .build/screenshots/overview-wide-light-top.png docs/page-overview.png
	@cp .build/screenshots/gaps-wide-dark-top.png docs/page-queue.png
else
	$(if $(filter-out counts,$(ONLY)),,$(GO) test ./internal/dev/figures -run ThePage -count=1 -update)
	$(if $(filter counts,$(ONLY)),,$(GO) test -tags whole ./verify/bench -run '^$$' -bench '(?i)$(or $(ONLY),.)' -benchtime 1x -timeout 20m -write)
endif

# docs/reference/cost.md says what each variable means; PAGE=1 writes that page's tables.
BATCH ?= 1
DISORDER ?= 0
.PHONY: cost
cost: ## print dollars a month (RATE=100)
	@$(GO) run ./verify/bench/cost -rate $(or $(RATE),100) -batch $(BATCH) -disorder $(DISORDER) -queues $(or $(QUEUES),100) -order $(or $(ORDER),number) -door $(or $(DOOR),api) -logs $(or $(LOGS),outcome) -tracing $(or $(TRACING),off) $(if $(PAGE),-page) -window $(or $(WINDOW),0s) -linger $(or $(LINGER),0s)

# WHY="…" UPDATE=1 writes what rose too.
.PHONY: size
size: ## count what there is to know (UPDATE=1)
	@$(GO) run ./verify/size $(if $(UPDATE),-update) $(if $(WHY),-why "$(WHY)")

## Maintain
# ALL=1: the CDK and a browser too.
.PHONY: deps
deps: $(INSTALL) $(if $(ALL),$(INSTALL_CDK) $(INSTALL_BROWSER)) ## install test servers (ALL=1: CDK, browser)

.PHONY: template
template: ## renew the golden templates of infra/cdk
	cd infra/cdk && $(GO) test . -run TestGolden -update

# What the command line is released for.
CLI_TARGETS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

# PART=vuln: known vulnerabilities in what is called (needs vuln.go.dev). PART=clients: test and
# build the packages for Python and Node. PART=cross: compile the command line for each of TARGETS.
# PART=sbom: write the bill of materials, dist/streamsort.cdx.json. VERSION=v1.2.3: commit and tag
# a release of all modules, and push nothing.
PART ?= vuln clients cross sbom
.PHONY: release
release: ## check a release, or tag VERSION=v1.2.3
ifdef VERSION
	@./.ci/tag $(VERSION)
else
ifneq ($(filter vuln,$(PART)),)
	$(TOOL) govulncheck ./...
	@check=$$($(TOOL) -n govulncheck); for module in $(MODULES); do (cd $$module && $$check ./...); done
endif
ifneq ($(filter clients,$(PART)),)
	$(GO) test -tags whole -timeout 60m ./clients
endif
ifneq ($(filter cross,$(PART)),)
	@mkdir -p .build
	@for target in $(or $(TARGETS),$(CLI_TARGETS)); do \
		echo "streamsort ($$target)"; \
		GOOS=$${target%/*} GOARCH=$${target#*/} CGO_ENABLED=0 $(GO) build -ldflags "-s -w" -o .build/cross ./cmd/streamsort; \
	done
endif
ifneq ($(filter sbom,$(PART)),)
	@mkdir -p dist
	$(GO) tool -modfile=tools/release/go.mod cyclonedx-gomod mod -json -output dist/streamsort.cdx.json .
endif
endif

.PHONY: clean
clean: ## remove what was built
	rm -rf dist .build infra/cdk/cdk.out examples/shop/dist examples/shop/cdk.out
