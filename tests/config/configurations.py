"""Hypothesis strategies for valid configurations, made from the option table itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from app.config.editing import replace_options
from app.config.model import SLOWEST_PREVIEW_FPS
from app.config.options import OPTIONS, Kind, Option
from app.config.veoconfig import VeoConfig, config_from_object, config_to_object

texts = st.text(st.characters(codec="utf-8"), max_size=20)

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


def whole_numbers(row: Option) -> st.SearchStrategy[int]:
    assert row.minimum is not None
    assert row.maximum is not None
    return st.integers(int(row.minimum), int(row.maximum))


def numbers(row: Option) -> st.SearchStrategy[float]:
    assert row.minimum is not None
    assert row.maximum is not None
    return st.floats(row.minimum, row.maximum)


@st.composite
def delay_tables(draw: st.DrawFn) -> list[list[float]]:
    delays = sorted(draw(st.sets(st.floats(0, 10_000), min_size=1, max_size=32)))
    rates = sorted((draw(st.floats(1, 500)) for _ in delays), reverse=True)
    return [list(row) for row in zip(delays, rates, strict=True)]


_VALUES: dict[Kind, Callable[[Option], st.SearchStrategy[Any]]] = {
    Kind.FLAG: lambda _row: st.booleans(),
    Kind.INT: whole_numbers,
    Kind.NUMBER: numbers,
    Kind.TEXT: lambda _row: texts,
    Kind.CHOICE: lambda row: st.sampled_from(row.choices),
    Kind.RANGE: lambda row: st.lists(whole_numbers(row), min_size=2, max_size=2).map(sorted),
    Kind.INT_LIST: lambda row: st.lists(whole_numbers(row), max_size=5, unique=True),
    Kind.TABLE: lambda _row: delay_tables(),
    Kind.FIELDS: lambda row: st.fixed_dictionaries(dict.fromkeys(row.fields, whole_numbers(row))),
    Kind.OBJECT: lambda _row: st.dictionaries(texts, json_values, max_size=3),
}


def option_values(row: Option) -> st.SearchStrategy[Any]:
    """Return values that this option allows by itself."""
    plain = _VALUES[row.kind](row)
    return st.none() | plain if row.nullable else plain


def obeying_rules(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values with those changed that a rule between two of them would refuse."""
    values = dict(values)
    for low, high in (
        ("alerts.band_low_us", "alerts.band_high_us"),
        ("bandwidth_guard.reduced_fps", "bandwidth_guard.max_fps"),
    ):
        values[low], values[high] = sorted((values[low], values[high]))
    if values["preview_fps"] < SLOWEST_PREVIEW_FPS:
        values["preview_fps"] = 0
    if values["encoder.bitrate_kbps"] is not None:
        values["encoder.cq"] = None
        values["encoder.max_rate_kbps"] = None
    return values


option_settings = st.fixed_dictionaries({row.key: option_values(row) for row in OPTIONS}).map(obeying_rules)

extensions = st.dictionaries(texts.map(lambda text: f"x_{text}"), json_values, max_size=3)


def _with_extensions(config: VeoConfig, top: dict[str, Any], nested: dict[str, Any]) -> VeoConfig:
    obj = config_to_object(config) | top
    obj["thermal_guard"] |= nested
    return config_from_object(obj)


configurations: st.SearchStrategy[VeoConfig] = st.builds(
    _with_extensions,
    option_settings.map(lambda values: replace_options(VeoConfig(), values)),
    extensions,
    extensions,
)
