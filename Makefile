# The front door. Meson does the work; this file knows where it does it and what it needs.
PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 60
FUZZ ?=
BENCH ?=
DEMO_ARGS ?=
CHECK_SCALE ?= 1
SOAK_SECONDS ?= 300
KILLS ?= 2000
MUTANT_SECONDS ?= 1800

.PHONY: all demo shots check check-all check-clickhouse calibrate bench soak soak-store mutants fuzz fmt install deb image sbom reproducible clean help
.DEFAULT_GOAL := all

all: ## install what is missing, build build/spanflame and build/collect/libspanflame
	@tools/deps build
	@tools/deps page || echo "make: going on without the web page's tools"
	@tools/build release spanflame collect/libspanflame.so.1.0.0 collect/libspanflame.a shop

demo: export BUILD_PROGRESS = 1
demo: all ## start a server and a shop with planted problems, and find them (DEMO_ARGS=--once: and exit)
	@build/spanflame demo $(DEMO_ARGS)

shots: ## pictures of the page for README.md and docs/page.md, from the recorded demo
	@tools/deps build test page shots
	@tools/page --tests
	@tools/build release
	@SOURCE_ROOT='$(CURDIR)' BUILD_ROOT='$(CURDIR)/build' SPANFLAME='$(CURDIR)/build/spanflame' tests/page/demo_page.py --shots

check: ## what must hold, in 15 minutes: format, rooms, tests, sanitizers, flows; static checks of what changed
	@tools/deps build test page
	@CHECK_SCALE=$(CHECK_SCALE) tools/check

check-all: ## all of it, in hours: valgrind, all static checks, long properties, kill cycles, clients, soak
	@tools/deps build test page shots
	@$(MAKE) --no-print-directory check-clickhouse
	@CHECK_SCALE=$(CHECK_SCALE) tools/check --all

check-clickhouse: ## nodes that ship to ClickHouse, at full scale; gets its library (566 MB) when it is not there
	@tools/deps build test
	@tools/build release spanflame
	@tools/libchdb || echo "make: without the library of ClickHouse these tests skip"
	@FLEET_KILLS=$${FLEET_KILLS:-300} FLEET_SOAK_SECONDS=$${FLEET_SOAK_SECONDS:-120} meson test -C build --no-rebuild --verbose --timeout-multiplier 10 fleet fleet_answers fleet_clocks fleet_columns fleet_faults fleet_life fleet_limits fleet_metrics fleet_move fleet_soak hostile_shard

calibrate: ## how right the answers are, on draws and worlds of known truth; writes docs/accuracy.md
	@tools/deps build
	@tools/build release
	@tests/calibration/calibrate.py --write

bench: ## one question per program; BENCH=noun picks one
	@tools/deps build
	@tools/build release
	@tools/bench $(BENCH)

soak: ## threads, libraries and children churn under every profiler for SOAK_SECONDS=300
	@tools/deps build test
	@tools/build release
	@SOAK_SECONDS=$(SOAK_SECONDS) meson test -C build --no-rebuild --verbose --timeout-multiplier 20 hosts_soak

soak-store: ## KILLS=2000 times kill -9 while spans and samples are written, damage to every kind of file in between
	@tools/deps build test
	@tools/build release
	@tools/soak_store.py --kills $(KILLS)

mutants: ## change the code at random places for MUTANT_SECONDS=1800, and list what no test notices
	@tools/deps build test
	@tools/mutants.py --seconds $(MUTANT_SECONDS)

fuzz: ## each target for FUZZ_SECONDS=60 of CPU time; FUZZ=noun picks one
	@tools/deps build test
	@tools/fuzz $(FUZZ_SECONDS) $(FUZZ)

fmt: ## let the formatter have its way
	@tools/deps test
	@git ls-files -z -co --exclude-standard '*.c' '*.h' | xargs -0 -r clang-format -i

install: all ## DESTDIR= PREFIX=/usr/local
	@tools/install '$(DESTDIR)$(PREFIX)'

deb: ## Debian packages of the last commit: server, library, development files; in build/packages
	@tools/deps build page package
	@tools/deb

image: all ## a container image, localhost/spanflame:VERSION, made with buildah and no registry
	@tools/deps package
	@tools/image

sbom: all ## what the build consists of, with versions and licences: SPDX 2.3, in build/spanflame.spdx.json
	@tools/sbom.py --out build/spanflame.spdx.json && echo "sbom: build/spanflame.spdx.json"

reproducible: ## build the packages twice, in two folders and surroundings, and compare them byte by byte
	@tools/deps build page package
	@tools/reproducible

clean: ## remove what was built
	rm -rf build build-asan build-tsan build-fuzz build-mutants .cache

help: ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/make \1\t\2/p' Makefile | expand -t 16
