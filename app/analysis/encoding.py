"""What the encode branch did with its frames: latency, rate, delay, skips and bitrate, from its records alone."""

from __future__ import annotations

import math

import numpy as np

from app.analysis.array_types import FloatArray, Int64Array
from app.analysis.summary import Measured, Missing, Value, single, summarise
from app.core.clock import NS_PER_S
from app.core.encode_records import EncodeArray, EncodeFate
from app.core.metrics import metric
from app.core.records import MISSING_COUNT, difference_ms


def encode_ms(records: EncodeArray) -> FloatArray:
    """Return encode_out − encode_in per row, ms: the wait, the coding and what is held back; NaN when not coded."""
    return difference_ms(records["encode_out_ns"], records["encode_in_ns"])


def encode_wait_ms(records: EncodeArray) -> FloatArray:
    """Return encode_start − encode_in per row, ms: the part of `encode_ms` before the encoder; NaN when never begun."""
    return difference_ms(records["encode_start_ns"], records["encode_in_ns"])


def delay_frames(records: EncodeArray) -> FloatArray:
    """Return how many frames the encoder took in after each before giving its packet out; NaN when it gave none."""
    known = records["delay_frames"] != MISSING_COUNT
    return np.where(known, records["delay_frames"].astype(np.float64), np.nan)


def encode_fps(records: EncodeArray) -> float:
    """Return packets ÷ time, per second: N ÷ sum of the intervals between successive packets of a source.

    An interval in which the source broke off counts in neither.

    NaN of fewer than two intervals, or when all came at once.
    """
    interval_ns, _ = _packet_intervals(records)
    total_ns = int(interval_ns.sum())
    return len(interval_ns) * NS_PER_S / total_ns if len(interval_ns) >= 2 and total_ns > 0 else math.nan


def encode_bitrate_bits_per_s(records: EncodeArray) -> float:
    """Return bits ÷ time over the same intervals as `encode_fps`; each packet counts with the interval before it.

    The first packet after a break of the source has none and is left out, as its key frame would stand for no time.
    """
    interval_ns, packet_bytes = _packet_intervals(records)
    total_ns = int(interval_ns.sum())
    return float(packet_bytes.sum()) * 8 * NS_PER_S / total_ns if total_ns > 0 else math.nan


def fate_count(records: EncodeArray, fate: EncodeFate) -> int:
    """Return how many frames met a fate: SKIPPED is the loss class `encoder_skipped`."""
    return int(np.count_nonzero(records["fate"] == fate))


def skipped_ratio(records: EncodeArray) -> float:
    """Return skipped ÷ offered; NaN when nothing was offered."""
    return fate_count(records, EncodeFate.SKIPPED) / len(records) if len(records) else math.nan


def encode_statistics(records: EncodeArray, every_record: EncodeArray) -> dict[str, Measured]:
    """Return the metrics of the encode branch, by id; `Missing` without a branch.

    Args:
        records: of one source, after the warm-up; statistics are made of these.
        every_record: of the whole run; frames are counted over these.
    """
    packets = len(_packet_intervals(records)[0])
    samples = {
        "encode_ms": encode_ms(records),
        "encode_wait_ms": encode_wait_ms(records),
        "encode_delay_frames": delay_frames(records),
    }
    rates = {"encode_fps": encode_fps(records), "encode_bitrate_bits_per_s": encode_bitrate_bits_per_s(records)}
    return {
        **{metric_id: summarise(values, metric(metric_id).missing) for metric_id, values in samples.items()},
        **{metric_id: single(value, packets, metric(metric_id).missing) for metric_id, value in rates.items()},
        **_encode_counts(every_record),
    }


def _encode_counts(records: EncodeArray) -> dict[str, Measured]:
    offered = len(records)
    ratio = skipped_ratio(records)
    counts = {"encoder_skipped": EncodeFate.SKIPPED, "encoder_lost": EncodeFate.LOST}
    return {
        **{
            metric_id: Value(fate_count(records, fate)) if offered else Missing(metric(metric_id).missing)
            for metric_id, fate in counts.items()
        },
        "encoder_skipped_ratio": single(ratio, offered, metric("encoder_skipped_ratio").missing),
    }


def _packet_intervals(records: EncodeArray) -> tuple[Int64Array, Int64Array]:
    """Return time since the packet before, ns, and size, bytes, of packets that follow without a break."""
    coded = records[records["fate"] == EncodeFate.ENCODED]
    coded = coded[np.lexsort((coded["encode_out_ns"], coded["breaks_before"], coded["source_index"]))]
    together = (np.diff(coded["breaks_before"]) == 0) & (np.diff(coded["source_index"]) == 0)
    interval_ns: Int64Array = np.diff(coded["encode_out_ns"])[together]
    packet_bytes: Int64Array = coded["bytes_out"][1:][together]
    return interval_ns, packet_bytes
