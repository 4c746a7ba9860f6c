# Front door of the build. Each target installs what is missing (Debian, Ubuntu), configures, builds
# and does its work.
#
#   make run [FILE=lines.txt]    the demo, or your own file: each line is a job
#   make build                   build/release/bin/wq, the libraries, the tests  (PRESET=release)
#   make test                    everything that a change must pass; last line: "N passed, N failed"
#   make conformance             every binding against the same scripts: equal or not
#   make install                 PREFIX=/usr/local  DESTDIR=
#   make bench bench-check       measure; measure and compare with the bounds
#   make fuzz                    every fuzz target for FUZZ_SECONDS
#   make planted                 do the tests notice bugs? each barrier and check broken once
#   make nightly                 the long tests, for hours; goes on where it was interrupted
#   make format lint             rewrite with clang-format; check format, repo rules and clang-tidy
#   make clean help              remove build/; this text

PRESET ?= release
PREFIX ?= /usr/local
FILE ?=
FUZZ_SECONDS ?= 60
JOBS ?= 2

.PHONY: run build test conformance bench bench-check fuzz planted nightly format lint install
.PHONY: clean help
.DEFAULT_GOAL := build

run:
	@scripts/setup.sh build
	@scripts/build.sh $(PRESET) $(JOBS) wq_cli
	@scripts/demo.sh build/$(PRESET)/bin/wq "$(FILE)"

build:
	@scripts/setup.sh build
	@scripts/build.sh $(PRESET) $(JOBS)

test:
	@scripts/setup.sh test
	@scripts/test.sh

conformance:
	@scripts/setup.sh test
	@scripts/build.sh release $(JOBS) wq_shared wq_cli conformance_model_test
	@scripts/conformance.py build/release

bench:
	@scripts/setup.sh bench
	@scripts/build.sh bench $(JOBS)
	@bench/run.sh build/bench

bench-check:
	@scripts/setup.sh bench
	@scripts/build.sh bench $(JOBS)
	@bench/run.sh build/bench --check

fuzz:
	@scripts/setup.sh fuzz
	@scripts/build.sh fuzz $(JOBS)
	@scripts/fuzz.sh build/fuzz $(FUZZ_SECONDS)

planted:
	@scripts/setup.sh test
	@scripts/planted.py

nightly:
	@scripts/setup.sh test fuzz nightly
	@scripts/nightly.py --parallel $(JOBS)

format:
	@scripts/setup.sh lint
	@git ls-files '*.cc' '*.h' '*.hpp' '*.c' | xargs clang-format -i

lint:
	@scripts/setup.sh lint
	@scripts/lint.sh

install:
	@scripts/setup.sh build
	@scripts/build.sh $(PRESET) $(JOBS) wq_shared wq_static wq_cli
	@scripts/install.sh "$(PRESET)" "$(PREFIX)"

clean:
	@rm -rf build

help:
	@sed -n '/^#   /s/^# *//p' Makefile
