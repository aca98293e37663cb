# The commands of development. Each works from any folder (make -C), as root or as an ordinary user, and several times at
# once. Everything they create is below .dev/.

GO       ?= go
PORT     ?=
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

# Builds a program with what it runs, and becomes it, so that signals and exit
# statuses pass.
export GO
dev   = exec cmd/dev/start.sh dev
bench = exec cmd/dev/start.sh bench

.DEFAULT_GOAL := help
.PHONY: help run info test test-timing fuzz rush chaos oversell bench bench-against reset lint nightly build

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: ## run Postgres, Redis, API and worker in the foreground, with example courses; Ctrl-C stops them; PORT=8080 is the API's
	@$(dev) run $(if $(PORT),-port=$(PORT))

info: ## print what make run has running: addresses, the organiser's token, commands to try
	@$(dev) info

test: ## run all tests with -race; ARGS="-run Settle ./internal/enroll" runs a part
	@$(dev) test $(ARGS)

# Only packages with such tests are built. A test that compares durations under another name fails in `make test`. Most of
# these tests wait most of the time; tests that keep the machine busy run alone (testwait.ParallelUnlessTiming).
timed = $$(grep -rlE '^func TestTiming' --include='*_test.go' ./cmd ./internal | xargs -n 1 dirname | sort -u)

test-timing: ## run the tests that compare durations with the promised times; the machine should be idle
	@export LASTSEAT_TEST_TIMING=1 && $(dev) test -count=1 -p=1 -parallel=4 -run='^TestTiming' $(timed)

fuzz: ## run every fuzz test for SECONDS=5, one after the other; prints where a failing input is saved
	@$(dev) fuzz -seconds=$(or $(SECONDS),5)

rush: ## PEOPLE=500 ask for SEATS=20 at once; WAITLIST=300 (or all) places, CANCEL=0.3 of the people cancel; JSON=1 prints numbers
	@$(dev) rush -people=$(or $(PEOPLE),500) -seats=$(or $(SEATS),20) -waitlist=$(WAITLIST) -cancel=$(CANCEL) $(if $(JSON),-json)

chaos: ## break everything for SECONDS=60 while people ask, then check every promise; SEED= repeats it; FAULTS=line_held,cut selects faults; JSON=1 prints numbers
	@$(dev) chaos -seconds=$(or $(SECONDS),60) $(if $(SEED),-seed=$(SEED)) $(if $(FAULTS),-faults=$(FAULTS)) $(if $(JSON),-json)

oversell: ## compare the usual answers to the last seat with Lastseat, asked by as many people
	@$(bench) oversell

bench: ## measure Lastseat and the other answers; QUICK=1 is a smoke run; CASES=lone,grown RIVALS=guarded ROUNDS=3; JSON=1 prints numbers
	@$(bench) measure $(if $(CASES),-cases=$(CASES)) $(if $(RIVALS),-rivals=$(RIVALS)) $(if $(ROUNDS),-rounds=$(ROUNDS)) $(if $(QUICK),-quick) $(if $(JSON),-json)

bench-against: ## compare CPU time per seated person with COMMIT=abc123, in ROUNDS=10 rushes of PEOPLE=5000 each; JSON=1 prints numbers
	@$(bench) against -commit=$(COMMIT) -rounds=$(or $(ROUNDS),10) -people=$(or $(PEOPLE),5000) $(if $(SEATS),-seats=$(SEATS)) $(if $(JSON),-json)

reset: ## remove all data of run, rush, chaos, test and bench; refuses while one of them runs
	@$(dev) reset

lint: ## run go vet, gofmt and golangci-lint
	CGO_ENABLED=0 $(GO) vet ./...
	@unformatted=$$(gofmt -l .) && if [ -n "$$unformatted" ]; then echo "gofmt -w these:"; echo "$$unformatted"; exit 1; fi
	CGO_ENABLED=0 $(GO) tool -modfile=tools/go.mod golangci-lint run

nightly: ## what takes too long for the gate: long fuzzing and chaos, the whole benchmark, gosec, govulncheck
	@.ci/nightly

build: ## build api and worker into .dev/bin
	@mkdir -p .dev/bin
	CGO_ENABLED=0 $(GO) build -buildvcs=false -o .dev/bin/ ./cmd/api ./cmd/worker
