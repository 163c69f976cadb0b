"""The anomaly rule over the GPU times of the command buffers, and the evidence of what moved with them.

The rule comes from advice to capture a CUDA graph again when its time jumps. Commands that are recorded again do not
make a slow GPU faster: a recording is made anew when its topology changes and at no other time. So the rule only marks.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from app.config.governors import Recapture, RecaptureWeights
from app.core.clock import NS_PER_MS
from app.engine.governors.rolling_spread import RollingSpread

CLOCK_FALL_RATIO: Final = 0.05
"""A clock counts as fallen below 95 % of the highest seen; boost steps of 15 MHz are less."""

UPLOAD_FALL_RATIO: Final = 0.2
"""An upload counts as slow below 80 % of the window's mean bandwidth; single copies vary by some 10 %."""

BUSY_RATIO: Final = 0.9
"""Memory used to more than this part of its limit counts as busy."""


class Anomaly(NamedTuple):
    """A command buffer that took strangely long. All in ns of GPU time, mean and sd of the window before it."""

    gpu_ns: int
    baseline_ns: float
    mean_ns: float
    sd_ns: float


def is_anomaly(rule: Recapture, gpu_ns: float, baseline_ns: float, mean_ns: float, sd_ns: float) -> bool:
    """Tell whether `now > ratio·baseline and |now − mean| > sigma·sd`; a NaN among them makes none."""
    return gpu_ns > rule.ratio * baseline_ns and abs(gpu_ns - mean_ns) > rule.sigma * sd_ns


class GpuTimeWatch:
    """Applies the rule to one command buffer after the other.

    The first `window` samples are a warm-up and count for nothing: shaders are compiled and clocks rise in them. The
    median of the next `window` is the baseline from then on; a median, because a single slow one of them would raise a
    maximum or a mean for the whole run. Mean and deviation are those of the last `window` before the sample, so that a
    spike does not raise its own threshold. A lasting change is therefore marked until the window has got used to it.
    Command buffers of another topology (size, format, stages) need another watch.

    Attributes:
        rule: ratio and sigma may be replaced at any time; another window needs another watch.
    """

    def __init__(self, rule: Recapture) -> None:
        self.rule = rule
        self._times = RollingSpread(rule.window)
        self._warming = rule.window
        self._baseline_ns = math.nan

    @property
    def baseline_ns(self) -> float:
        """GPU time that counts as normal; NaN until the warm-up and one more window are over."""
        return self._baseline_ns

    def add(self, gpu_ns: int) -> Anomaly | None:
        """Note the GPU time of the next command buffer and return what is strange about it; 1.2 µs."""
        if self._warming:
            self._warming -= 1
            return None
        found = self._judge(gpu_ns) if self._times.is_full else None
        self._times.add(gpu_ns)
        if self._times.is_full and math.isnan(self._baseline_ns):
            self._baseline_ns = self._times.median()
        return found

    def _judge(self, gpu_ns: int) -> Anomaly | None:
        mean_ns, sd_ns = self._times.mean, self._times.sd
        if not is_anomaly(self.rule, gpu_ns, self._baseline_ns, mean_ns, sd_ns):
            return None
        return Anomaly(gpu_ns, self._baseline_ns, mean_ns, sd_ns)


class Surroundings(NamedTuple):
    """What may explain a slow command buffer. None is what is not measured.

    Attributes:
        shader_clock_mhz, memory_clock_mhz: clocks.
        memory_busy_ratio: use of the memory as a part of its limit.
        upload_bytes_per_s: speed of the copies into the staging memory.
    """

    shader_clock_mhz: float | None = None
    memory_clock_mhz: float | None = None
    memory_busy_ratio: float | None = None
    upload_bytes_per_s: float | None = None


class Evidence(NamedTuple):
    """One kind of evidence: its weight, whether it moved (None: not measured), and what was seen, in words."""

    weight: float
    moved: bool | None
    text: str


def weigh_evidence(weights: RecaptureWeights, usual: Surroundings, now: Surroundings) -> tuple[Evidence, ...]:
    """Return what moved beside the GPU time: shader clock, memory, copies, in this order.

    Args:
        usual: the highest clocks seen, and the mean upload speed of the window.
        now: at the slow command buffer, or as near to it as was measured.
    """
    return (
        Evidence(weights.sm, *_fall("shader clock", usual.shader_clock_mhz, now.shader_clock_mhz, CLOCK_FALL_RATIO)),
        Evidence(weights.memory, *_memory(usual, now)),
        Evidence(weights.copy_, *_upload(usual, now)),
    )


def explain(evidence: tuple[Evidence, ...]) -> str:
    """Return the evidence as a sentence, each kind with its weight, and what they come to."""
    parts = "; ".join(f"{each.text} (weight {each.weight:.2f})" for each in evidence)
    measured = sum(each.weight for each in evidence if each.moved is not None)
    moved = sum(each.weight for each in evidence if each.moved)
    if all(each.moved is None for each in evidence):
        return f"{parts}: nothing was measured that could explain it"
    return f"{parts}: evidence {moved:.2f} of {measured:.2f} that was measured"


def anomaly_sentence(worst: Anomaly, marked: int, judged: int, window: int) -> str:
    """Return what was marked since the last sentence, without the evidence.

    Args:
        worst: the slowest of the `marked` anomalies among `judged` command buffers.
        window: of the rule.
    """
    gpu_ms, baseline_ms = worst.gpu_ns / NS_PER_MS, worst.baseline_ns / NS_PER_MS
    mean_ms, sd_ms = worst.mean_ns / NS_PER_MS, worst.sd_ns / NS_PER_MS
    ratio = f", {gpu_ms / baseline_ms:.1f} × the baseline of {baseline_ms:.2f} ms" if baseline_ms else ""
    return (
        f"{marked} of {judged} command buffers took strangely long, the slowest {gpu_ms:.2f} ms of GPU time{ratio} "
        f"(mean of the {window} before {mean_ms:.2f} ± {sd_ms:.2f} ms)"
    )


def _fall(name: str, usual: float | None, now: float | None, by_ratio: float) -> tuple[bool | None, str]:
    if usual is None or now is None:
        return None, f"{name} unknown"
    if now < usual * (1.0 - by_ratio):
        return True, f"{name} fell from {usual:.0f} to {now:.0f} MHz"
    return False, f"{name} steady at {now:.0f} MHz"


def _memory(usual: Surroundings, now: Surroundings) -> tuple[bool | None, str]:
    fallen, text = _fall("memory clock", usual.memory_clock_mhz, now.memory_clock_mhz, CLOCK_FALL_RATIO)
    if now.memory_busy_ratio is None:
        return fallen, text
    busy = now.memory_busy_ratio > BUSY_RATIO
    return busy or bool(fallen), f"{text}, memory {now.memory_busy_ratio:.0%} busy"


def _upload(usual: Surroundings, now: Surroundings) -> tuple[bool | None, str]:
    if usual.upload_bytes_per_s is None or now.upload_bytes_per_s is None:
        return None, "upload bandwidth unknown"
    before, after = f"{usual.upload_bytes_per_s / 1e9:.2f}", f"{now.upload_bytes_per_s / 1e9:.2f}"
    if now.upload_bytes_per_s < usual.upload_bytes_per_s * (1.0 - UPLOAD_FALL_RATIO):
        return True, f"upload bandwidth fell from {before} to {after} GB/s"
    return False, f"upload bandwidth steady at {after} GB/s"
