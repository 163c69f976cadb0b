"""What a metric comes to: a summary of samples, one value, or missing with its reason."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from app.analysis.array_types import FloatArray
from app.core.metrics import FEWEST_SAMPLES


@dataclass(frozen=True, slots=True)
class Summary:
    """Statistics of N valid samples, in the unit of the metric's id.

    Percentiles are linear at p·(N−1) (numpy's default). `sd` divides by N−1. A statistic for which there are too few
    samples (`FEWEST_SAMPLES`: p99 needs 100, p999 needs 1000) is NaN, and `missing_statistics` gives the reason.
    """

    n: int
    mean: float
    sd: float
    p50: float
    p95: float
    p99: float
    p999: float
    max: float

    def missing_statistics(self) -> dict[str, str]:
        """Return statistic → why it is missing, for those that are."""
        return {
            name: f"needs {fewest} samples, there are {self.n}"
            for name, fewest in FEWEST_SAMPLES.items()
            if self.n < fewest
        }


@dataclass(frozen=True, slots=True)
class Value:
    """One number for the whole window. `n`: samples it was computed from, None for a plain count."""

    value: float
    n: int | None = None


@dataclass(frozen=True, slots=True)
class Missing:
    """No value, and why."""

    reason: str


Measured = Summary | Value | Missing


def percentile(samples: FloatArray, p: float) -> float:
    """Return the percentile at p·(N−1), p from 0 to 1, of samples without NaN; NaN when there are none."""
    return float(np.quantile(samples, p)) if len(samples) else math.nan


def valid(samples: FloatArray) -> FloatArray:
    """Return the samples that are not missing."""
    return samples[~np.isnan(samples)]


def summarise(samples: FloatArray, missing: str) -> Summary | Missing:
    """Return the statistics of the samples that are not NaN.

    Args:
        samples: one a frame, NaN where missing.
        missing: reason to give when every sample is.
    """
    present = valid(samples)
    n = len(present)
    if n == 0:
        return Missing(missing)
    if n < FEWEST_SAMPLES["mean"]:
        return Missing(f"one sample only; no statistic of fewer than {FEWEST_SAMPLES['mean']}")
    p50, p95, p99, p999 = np.quantile(present, (0.5, 0.95, 0.99, 0.999))
    return Summary(
        n=n,
        mean=float(present.mean()),
        sd=float(present.std(ddof=1)),
        p50=float(p50),
        p95=float(p95),
        p99=float(p99) if n >= FEWEST_SAMPLES["p99"] else math.nan,
        p999=float(p999) if n >= FEWEST_SAMPLES["p999"] else math.nan,
        max=float(present.max()),
    )


def single(value: float, n: int | None, missing: str) -> Value | Missing:
    """Return a value, or missing with its reason when it is NaN."""
    return Missing(missing) if math.isnan(value) else Value(value, n)
