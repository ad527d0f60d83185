# The commands that people type. Each works alone on a machine with Python 3.11+ and make.
PYTHON ?= python3
RUN = .venv/bin/python

.DEFAULT_GOAL = help
.PHONY: help ready demo check fix test test-all test-laws test-races test-crash test-cluster bench package lock clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 16

ready:  ## .venv with the locked packages, a Java, the jars: only what is missing
	@command -v $(PYTHON) >/dev/null 2>&1 || { \
	  echo "set-up stopped: there is no $(PYTHON)"; \
	  echo "  hint: install Python 3.11 or newer, or name one: make PYTHON=python3.12 demo"; exit 2; }
	@$(PYTHON) tools/setup.py

demo: ready  ## five views over a small shop, refreshed and checked
	@$(RUN) -m examples.demo

check: ready  ## format, lint, types, imports
	@$(RUN) tools/run_tests.py --only check

fix: ready  ## format, and repair what the linter can
	@$(RUN) -m ruff format . && $(RUN) -m ruff check --fix .

test: ready  ## the checks and every suite; the aim is 15 minutes on 2 cores
	@$(RUN) tools/run_tests.py

test-laws test-races test-crash test-cluster: test-%: ready
	@$(RUN) tools/run_tests.py --long $*

test-all: test test-laws test-races test-crash test-cluster  ## all of it; the long suites go on where they stopped

bench: ready  ## the benchmarks, one after the other
	@$(RUN) -m benchmarks

package: ready  ## wheel, sdist, list of components, list of licences, in dist/
	@$(RUN) tools/package.py

lock: ready  ## write the lock files anew (needs the network)
	@$(RUN) tools/lock.py

clean:  ## everything that can be made again, except the user's cache
	rm -rf .venv .cache .grebe .hypothesis build dist src/*.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
