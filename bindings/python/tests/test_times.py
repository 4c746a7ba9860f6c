"""The one rule of times."""

from datetime import datetime, timedelta, timezone

import pytest

import wq
from wq import times


@pytest.mark.parametrize("value, ms", [
    (None, 0), (0, 0), (1, 1000), (0.5, 500), (timedelta(seconds=2), 2000), (0.0001, 1),
    (timedelta(microseconds=1), 1), (-1, -1000), (timedelta(days=36500), 36500 * 86_400_000)])
def test_durations(value, ms):
    assert times.to_ms(value, "x") == ms


def test_waits():
    assert times.wait_ms(None, "x") == -1
    assert times.wait_ms(0, "x") == 0
    with pytest.raises(wq.InvalidError):
        times.wait_ms(-0.001, "x")


def test_points_in_time():
    moment = datetime(2026, 11, 30, 12, 0, 0, 123000, tzinfo=timezone.utc)
    ms = times.when_ms(moment, "x")
    assert times.when(ms) == moment
    assert times.when_ms(moment.timestamp(), "x") == ms
    assert times.when_ms(moment.astimezone(timezone(timedelta(hours=5))), "x") == ms
    assert times.when(0) is None and times.when_ms(None, "x") == 0
    assert times.when(2**62).year == 9999
    with pytest.raises(TypeError, match="time zone"):
        times.when_ms(datetime(2026, 1, 1), "x")


def test_a_delay_and_a_run_at_come_back(queue):
    until = datetime.now(timezone.utc) + timedelta(hours=1)
    first = queue.enqueue(b"x", delay=timedelta(hours=1)).id
    second = queue.enqueue(b"x", run_at=until).id
    assert abs(queue.get(first).ready - until) < timedelta(minutes=1)
    assert queue.get(second).ready == until.replace(microsecond=until.microsecond // 1000 * 1000)
