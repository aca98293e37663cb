# Everything a developer does with lastseat. All of it works from any folder
# (make -C), as root and as an ordinary user, and twice at the same time. It keeps
# its files below .dev/.

GO       ?= go
PEOPLE   ?=
SEATS    ?=
WAITLIST ?= 0
CANCEL   ?= 0
SECONDS  ?=
SEED     ?=
FAULTS   ?=
QUICK    ?=
CASES    ?=
ROUNDS   ?=
COMMIT   ?=
JSON     ?=
ARGS     ?=

# Builds a program and becomes it, so that signals and exit statuses pass. It is
# built under another name first: the old one may be running, or another make may
# be building the same. It is told the number of this make, with which it ends.
program = mkdir -p .dev/bin && new=.dev/bin/$(1).$$$$ && \
	{ $(GO) build -buildvcs=false -o $$new $(2) && mv -f $$new .dev/bin/$(1) || { rm -f $$new; exit 1; }; } && \
	LASTSEAT_DEV_MAKE=$$PPID exec .dev/bin/$(1)
dev = $(call program,dev,./cmd/dev)
bench = $(call program,bench,./bench/cmd/bench)

.DEFAULT_GOAL := help
.PHONY: help run test test-timing fuzz rush chaos oversell bench bench-against reset lint build

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: ## Postgres, Redis, API and worker in the foreground, with example courses (Ctrl-C stops it)
	@$(dev) run

test: ## the whole suite with -race; ARGS="-run Settle ./internal/enroll" for a part of it
	@$(dev) test $(ARGS)

# Only the packages that have such tests are built. A test that compares durations and is not run here fails in `make test`.
# These wait most of the time; those that keep the machine busy run alone (testwait.ParallelUnlessTiming).
timed = $$(grep -rlE '^func TestTiming' --include='*_test.go' ./cmd ./internal | xargs -n 1 dirname | sort -u)

test-timing: ## the promised times: the tests that compare durations, on a machine that does nothing else
	@export LASTSEAT_TEST_TIMING=1 && $(dev) test -count=1 -p=1 -parallel=4 -run='^TestTiming' $(timed)

fuzz: ## every fuzz test for SECONDS=5, one after the other; says where failing inputs are saved
	@$(dev) fuzz -seconds=$(or $(SECONDS),5)

rush: ## PEOPLE=500 want SEATS=20 at once; WAITLIST=300 (or all) places to wait, CANCEL=0.3 of them cancel; JSON=1: numbers
	@$(dev) rush -people=$(or $(PEOPLE),500) -seats=$(or $(SEATS),20) -waitlist=$(WAITLIST) -cancel=$(CANCEL) $(if $(JSON),-json)

chaos: ## everything breaks for SECONDS=60 while people ask; then every promise is checked. SEED= repeats it; FAULTS=line_held,cut: only these; JSON=1: numbers
	@$(dev) chaos -seconds=$(or $(SECONDS),60) $(if $(SEED),-seed=$(SEED)) $(if $(FAULTS),-faults=$(FAULTS)) $(if $(JSON),-json)

oversell: ## the usual answers to the question of the last seat, then lastseat, asked by as many people
	@$(bench) oversell

bench: ## lastseat beside the other answers, measured; QUICK=1: a smoke run; CASES=lone,grown RIVALS=guarded ROUNDS=3; JSON=1: numbers
	@$(bench) measure $(if $(CASES),-cases=$(CASES)) $(if $(RIVALS),-rivals=$(RIVALS)) $(if $(ROUNDS),-rounds=$(ROUNDS)) $(if $(QUICK),-quick) $(if $(JSON),-json)

bench-against: ## this tree beside COMMIT=abc123: CPU time per seated person in ROUNDS=10 rushes each, PEOPLE=5000; JSON=1: numbers
	@$(bench) against -commit=$(COMMIT) -rounds=$(or $(ROUNDS),10) -people=$(or $(PEOPLE),5000) $(if $(SEATS),-seats=$(SEATS)) $(if $(JSON),-json)

reset: ## removes all data of run, rush, chaos, test and bench; refuses while one of them runs
	@$(dev) reset

lint: ## go vet, gofmt, golangci-lint
	$(GO) vet ./...
	@unformatted=$$(gofmt -l .) && if [ -n "$$unformatted" ]; then echo "gofmt -w these:"; echo "$$unformatted"; exit 1; fi
	$(GO) tool -modfile=tools/go.mod golangci-lint run

build: ## api and worker into .dev/bin
	@mkdir -p .dev/bin
	$(GO) build -buildvcs=false -o .dev/bin/ ./cmd/api ./cmd/worker
