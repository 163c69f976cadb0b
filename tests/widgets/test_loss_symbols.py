"""The marks of lost frames can be told apart without colour, and their key names them."""

from __future__ import annotations

from app.core.metrics import metric
from app.core.vocabulary import LOSS_CLASSES
from widgets.graph_panel import loss_legend
from widgets.loss_symbols import GLYPHS


def test_every_loss_class_has_a_shape_and_a_character_of_its_own() -> None:
    characters = [GLYPHS[metric(f"loss.{lost.label}").marker] for lost in LOSS_CLASSES]
    assert len(set(characters)) == len(LOSS_CLASSES)


def test_the_key_names_what_is_in_view_and_nothing_else() -> None:
    text = loss_legend({"loss.source_late", "loss.superseded"})
    assert "source_late" in text
    assert "superseded" in text
    assert "deadline_missed" not in text
    assert loss_legend(()) == ""
