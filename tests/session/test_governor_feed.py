"""What the session tells the governors: the newest readings, missing where they are missing."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ipc.messages import GovernorReadings
from app.session.governor_feed import GovernorFeed, busiest_link
from app.telemetry.provider import Reading


class Feed:
    """Stands for a subscription of the sampler: gives what was put, once."""

    def __init__(self) -> None:
        self.waiting: list[Reading] = []

    def put(self, at_ns: int, **values: float) -> None:
        for metric, value in values.items():
            reason = "not measured" if math.isnan(value) else ""
            self.waiting.append(Reading(metric, value, reason, at_ns, 1.0, "test", "gpu"))

    def read(self) -> list[Reading]:
        waiting, self.waiting = self.waiting, []
        return waiting


def test_new_readings_are_sent_once_and_missing_ones_as_missing() -> None:
    feed, sent = Feed(), list[GovernorReadings]()
    governor_feed = GovernorFeed(feed, sent.append)
    feed.put(5, gpu_temperature_c=81.0, gpu_clock_mhz=math.nan, host_cpu_ratio=0.5)
    governor_feed.pass_on()
    governor_feed.pass_on()
    assert sent == [GovernorReadings(5, 81.0, None, None, None, "")]


def test_a_reading_that_becomes_missing_is_no_longer_sent_as_known() -> None:
    feed, sent = Feed(), list[GovernorReadings]()
    governor_feed = GovernorFeed(feed, sent.append)
    for at_ns, value in ((1, 80.0), (2, math.nan)):
        feed.put(at_ns, gpu_temperature_c=value)
        governor_feed.pass_on()
    assert [message.gpu_temperature_c for message in sent] == [80.0, None]


def test_a_link_is_measured_against_its_limit_and_the_busiest_is_named() -> None:
    values = {
        "pcie_tx_bytes_per_s": 4e9,
        "pcie_rx_bytes_per_s": 12e9,
        "pcie_limit_bytes_per_s": 16e9,
        "dram_bandwidth_ratio": 0.4,
    }
    assert busiest_link(values) == (0.75, "PCIe to the GPU")
    assert busiest_link({**values, "dram_bandwidth_ratio": 0.9}) == (0.9, "memory bandwidth")


LINK_METRICS = ["pcie_tx_bytes_per_s", "pcie_limit_bytes_per_s", "dram_bandwidth_ratio"]
NUMBER = st.one_of(st.just(math.nan), st.floats(0, 1e12))


@given(st.dictionaries(st.sampled_from(LINK_METRICS), NUMBER))
def test_without_a_limit_there_is_no_ratio(values: dict[str, float]) -> None:
    ratio, name = busiest_link(values)
    assert (ratio is None) == (name == "")
    assert ratio is None or (ratio >= 0 and not math.isnan(ratio))


@pytest.mark.parametrize("metric", ["gpu_temperature_c", "gpu_clock_mhz", "memory_clock_mhz", "dram_bandwidth_ratio"])
def test_the_ids_are_those_of_the_metric_table(metric: str) -> None:
    feed, sent = Feed(), list[GovernorReadings]()
    feed.put(1, **{metric: 0.5})
    GovernorFeed(feed, sent.append).pass_on()
    assert 0.5 in (
        sent[0].gpu_temperature_c,
        sent[0].gpu_clock_mhz,
        sent[0].memory_clock_mhz,
        sent[0].link_ratio,
    )
