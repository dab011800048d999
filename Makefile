# Set-up is part of the targets: what a fresh Debian machine lacks is installed, or built into a cache that all
# checkouts on the machine share. Only Go and make have to be there.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

# Nothing here needs C, and Go's own linker is several times as fast as the one that cgo calls.
export CGO_ENABLED := 0

CACHE := $(or $(SLIPWAY_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/slipway)

# The file names of the linter and of goreleaser say what they were built from.
LINT := $(CACHE)/golangci-lint/$(shell cat tools/golangci-lint/go.mod tools/golangci-lint/go.sum | sha256sum | cut -c1-16)/golangci-lint
GORELEASER := $(CACHE)/goreleaser/$(shell cat tools/goreleaser/go.mod tools/goreleaser/go.sum | sha256sum | cut -c1-16)/goreleaser
ASL_VALIDATOR := tools/asl-validator/node_modules/.package-lock.json
DYNAMODB_LOCAL := tools/dynamodb-local/node_modules/.package-lock.json
AWS_CDK := tools/aws-cdk/node_modules/.package-lock.json
CONSOLE := web/node_modules/.package-lock.json
OSLS := tools/osls/node_modules/.package-lock.json

# Tests of whole systems wait much of their time: with one package more than there are processors none is idle.
TEST_FLAGS ?= -shuffle=on -count=1 -p=$(shell expr $$(getconf _NPROCESSORS_ONLN) + 1) -parallel=4 -timeout=60m
# They come first: left to the end, the longest would run alone.
LONGEST := ./internal/e2e ./delegate/kubernetes ./delegate/ecs ./delegate/helm ./delegate/asg ./statemachines
# The parsers of what users write and Git hosts send: these are fuzzed at every test run, each for long enough to try
# tens of thousands of changes of its seeds. "make fuzz" looks for longer.
test: FUZZTIME ?= 5s
fuzz: FUZZTIME ?= 15s
FUZZED := $(wildcard pkg/yamldoc pkg/entity pkg/expr pkg/input pkg/template pkg/trigger pkg/freeze pkg/gitops/argo pkg/login/saml pkg/scim)

# The CDK warns at length that this Node.js isn't the newest.
QUIET := JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=1

.PHONY: help
help: ## Show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# The console needs Node.js; without it the program says so in the console's place.
.PHONY: build
build: ## Build every command into bin/, slipway with its console
	if command -v npm >/dev/null; then $(MAKE) --no-print-directory web/dist/index.html; fi
	go build -trimpath -ldflags '-s -w' -tags "$$(command -v npm >/dev/null && echo console)" -o bin/ ./cmd/...
	command -v npm >/dev/null || echo "build: Node.js isn't installed, so bin/slipway has no console; install nodejs (20.19 or later) and npm, and build again" >&2

.PHONY: console
console: web/dist/index.html ## Build the console's pages into web/dist

$(CONSOLE): web/package-lock.json web/package.json
	node -e 'const [a, b] = process.versions.node.split("."); if (a < 20 || (a == 20 && b < 19)) { console.error("console: Node.js " + process.version + " is too old; 20.19 or later builds the console"); process.exit(1) }'
	cd web && npm ci --no-audit --no-fund
	touch $@

web/dist/index.html: $(CONSOLE) $(shell find web/src web/public web/index.html web/vite.config.ts -type f 2>/dev/null)
	cd web && npx vite build --logLevel warn
	touch $@

web/gen/node_modules/.package-lock.json: web/gen/package-lock.json
	cd web/gen && npm ci --no-audit --no-fund
	touch $@

.PHONY: web-types
web-types: web/gen/node_modules/.package-lock.json # the console's types, of the API's description
	cd web/gen && npx openapi-typescript ../../pkg/api/openapi.json -o ../src/api.gen.d.ts

.PHONY: test-console
test-console: system web/dist/index.html web/gen/node_modules/.package-lock.json ## Check the console's types, format and sizes, and drive it in a Chromium against slipway serve
	cd web/gen && npx openapi-typescript ../../pkg/api/openapi.json -o node_modules/api.gen.d.ts >/dev/null
	cmp web/gen/node_modules/api.gen.d.ts web/src/api.gen.d.ts || { echo "the console's types aren't the API's; make generate" >&2; exit 1; }
	cd web && npm run --silent check
	go build -tags console -o bin/slipway ./cmd/slipway
	cd web && npm run --silent e2e

.PHONY: bench-console
bench-console: system web/dist/index.html ## Measure the console against its budgets: 10,000 nodes, a log of 100,000 lines; minutes
	go build -tags console -o bin/slipway ./cmd/slipway
	cd web && node budget.mjs && node e2e/bench.mjs

.PHONY: pictures
pictures: system web/dist/index.html ## Take the pictures of docs/console.md anew
	go build -tags console -o bin/slipway ./cmd/slipway
	cd web && PICTURES=../docs/console node --test --test-name-pattern="as docs/console.md shows them" e2e/access.test.mjs

# The linter vets: its govet has every check of "go vet". Heaps of tests and of the cluster's programs are small: at the
# collector's usual pace it takes a seventh of their time.
.PHONY: test
test: setup ## Set up what is missing, then vet, lint, test on a real cluster, and fuzz the parsers
	$(MAKE) --jobs=3 --output-sync=target lint cluster test-infra test-console # the CDK and the browser leave a processor idle at times
	GOGC=400 bin/testcluster run -- go test -vet=off $(TEST_FLAGS) $(LONGEST) ./...
	tools/fuzz.sh $(FUZZTIME) $(addprefix ./,$(FUZZED))

.PHONY: test-fast
test-fast: ## Test without a cluster; the tests that need one are skipped
	go test -shuffle=on ./...

.PHONY: test-fresh
test-fresh: ## Test what is committed as on a machine that has never built it
	tools/fresh.sh make test

.PHONY: lint
lint: $(LINT) ## Run golangci-lint
	GOGC=off GOMEMLIMIT=6GiB $(LINT) run ./...

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME (15s), two at a time
	tools/fuzz.sh $(FUZZTIME) ./...

.PHONY: chaos
chaos: ## Make FAULTS (1000) random faults under load on one machine, a fifth as many on AWS, and run as many pipelines there; SEED makes those of a run again
	go test ./internal/e2e -run '^(TestChaos|TestChaosOnAWS|TestFaultsOnAWS)$$' -count=1 -v -timeout 2h -faults $(or $(FAULTS),1000) -seed $(or $(SEED),0)

.PHONY: counts
counts: setup test-infra ## Count what all pipelines of docs/cost.md take of AWS, those of a thousand steps too
	go test ./internal/e2e -run '^TestCountsOnAWS$$' -count=1 -v -timeout 1h -thousand

.PHONY: bench
bench: cluster bench-page bench-peer ## Run every benchmark: whole pipelines, roll-outs beside kubectl and helm, and parts
	bin/testcluster run -- go test -run '^$$' -bench . -benchtime 3s -timeout 30m ./internal/e2e ./delegate/kubernetes ./delegate/helm
	go test -run '^$$' -bench . -benchmem $$(go list ./... | grep -v /internal/)

.PHONY: bench-page
bench-page: ## Fail if pipelines are a fifth slower than docs/performance.md says; on a quiet machine
	{ go test -run '^$$' -bench '^BenchmarkCommit$$' -benchtime 4000x ./pkg/sqlitedb; \
	  go test -run '^$$' -bench 'NoOpPipeline/empty|Throughput' -benchtime 400x ./internal/e2e; } | go run ./tools/slower docs/performance.md

.PHONY: bench-peer
bench-peer: ## Run ten steps that do nothing on DBOS Go with Postgres, and beside it here
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || { apt-get update -q && apt-get install -q -y --no-install-recommends postgresql; }
	cd tools/dbos && go test -run '^$$' -bench . -benchtime 400x
	go test -run '^$$' -bench 'NoOpPipeline/empty|Throughput' -benchtime 400x ./internal/e2e

.PHONY: samples
samples: cluster ## Run the Kubernetes and Helm pipelines of CHECKOUT, a checkout of harness-community/harnesscd-example-apps
	bin/testcluster run -- go run ./cmd/runsamples $(CHECKOUT)

.PHONY: generate
generate: ## Regenerate what is generated
	go generate ./...
	tools/manifest.sh
	$(MAKE) --no-print-directory web-types

.PHONY: verify
verify: generate lint ## Check that the code is generated, formatted, linted, tidy and committed
	go mod tidy -diff
	git diff --exit-code
	test -z "$$(git status --porcelain)"

.PHONY: functions
functions: ## Build the Lambda functions' zip files into dist/functions
	go run ./tools/functions

.PHONY: synth
synth: functions ## Synthesize the CloudFormation templates into cdk.out
	cd infra && $(QUIET) CDK_OUTDIR=../cdk.out go run .

# The tests of the functions build them for this machine, and install the templates that this leaves. To build them for
# Lambda's processors, as "make functions" does, is to compile all that is in them once more.
.PHONY: test-infra
test-infra: ## Test the CDK app: its outline, rights, cdk-nag and cfn-lint; leave its templates in dist/test/cdk.out
	cd infra && go vet . && $(QUIET) go test -vet=off -count=1 . -keep ../dist/test/cdk.out

.PHONY: release-snapshot
release-snapshot: $(GORELEASER) ## Make what a release consists of, without publishing it: archives, checksums, SBOMs, an image
	$(GORELEASER) release --snapshot --clean
	go run ./tools/image -release dist/release -out dist/image

.PHONY: cluster
cluster: bin/testcluster ## Download the Kubernetes test control plane, or build it (about five minutes, once)
	GOGC=off GOMEMLIMIT=3GiB bin/testcluster build

.PHONY: demo
demo: ## Show Slipway deploying to a Kubernetes control plane on this machine
	tools/demo.sh start

.PHONY: demo-stop
demo-stop: ## Stop what the demo started
	tools/demo.sh stop

.PHONY: setup
setup: system $(ASL_VALIDATOR) $(DYNAMODB_LOCAL) $(AWS_CDK) $(OSLS) # what the tests need besides the cluster

.PHONY: system
system:
	tools/setup.sh

# With -trimpath, all that it shares with Slipway would be compiled twice. Heaps that grow cost less than collecting them.
$(LINT):
	cd tools/golangci-lint && GOGC=off GOMEMLIMIT=3GiB go build -ldflags '-s -w' -o $(LINT) tool

$(GORELEASER):
	cd tools/goreleaser && go build -trimpath -ldflags '-s -w' -o $(GORELEASER) tool

$(ASL_VALIDATOR) $(DYNAMODB_LOCAL) $(AWS_CDK) $(OSLS): tools/%/node_modules/.package-lock.json: tools/%/package-lock.json | system
	cd tools/$* && npm ci --no-audit --no-fund
	rm -rf tools/$*/node_modules/aws-cdk/lib/init-templates # go would take them for packages of this module
	touch $@

# go build knows best whether there is something to do.
.PHONY: bin/testcluster
bin/testcluster:
	go build -o $@ ./cmd/testcluster
