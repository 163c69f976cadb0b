"""The marks of lost frames can be told apart without colour, and their key names them."""

from __future__ import annotations

from app.core.metrics import metric
from app.core.vocabulary import LOSS_CLASSES
from widgets.graph_panel import fitting_key, loss_key
from widgets.loss_symbols import GLYPHS


def test_every_loss_class_has_a_shape_and_a_character_of_its_own() -> None:
    characters = [GLYPHS[metric(f"loss.{lost.label}").marker] for lost in LOSS_CLASSES]
    assert len(set(characters)) == len(LOSS_CLASSES)


def test_the_key_names_what_is_in_view_and_nothing_else() -> None:
    texts = [item.text for item in loss_key({"loss.source_late", "loss.superseded"})]
    assert texts == ["source_late", "superseded"]
    assert loss_key(()) == []


def test_a_key_without_room_ends_at_a_whole_entry() -> None:
    key = loss_key({"loss.source_late", "loss.superseded"})
    whole = fitting_key(key, 1000.0, len)
    assert "source_late" in whole
    assert "superseded" in whole
    one = fitting_key(key, len("x source_late   …"), len)
    assert "source_late" in one
    assert "superseded" not in one
    assert one.endswith("…")
    assert fitting_key(key, 0.0, len) == "…"
    assert fitting_key([], 0.0, len) == ""
