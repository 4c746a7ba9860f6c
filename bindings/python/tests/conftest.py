"""Fixtures of the tests: a fresh store each, and the long mode."""

import os
import random

import pytest

import wq

# Little disk, so that opening is quick.
SMALL = {"segment_bytes": 4 << 20, "spare_segments": 1}
SEED = int(os.environ.get("WQ_TEST_SEED") or random.SystemRandom().randrange(2**32))


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="repeat what is repeated more often")


def pytest_report_header():
    return f"seed: {SEED} (WQ_TEST_SEED={SEED} repeats it)"


@pytest.fixture
def prng():
    return random.Random(SEED)


@pytest.fixture
def is_long(request):
    return request.config.getoption("--long")


@pytest.fixture
def store(tmp_path):
    with wq.open(tmp_path / "store", events_max=1000, **SMALL) as opened:
        yield opened


@pytest.fixture(scope="module")
def quiet(tmp_path_factory):
    """A queue that tests share in which nothing happens."""
    with wq.open(tmp_path_factory.mktemp("quiet") / "store", events_max=10, **SMALL) as opened:
        yield opened.queue("q")


@pytest.fixture
def queue(store):
    return store.queue("q", max_retries=2)
