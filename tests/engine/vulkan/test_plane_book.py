from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from app.engine.vulkan.plane_book import PlaneBook

STEPS = st.lists(st.sampled_from(["new", "later", "load", "made", "unchanged", "made again"]), max_size=60)


class Gpu:
    """Plane sets as the GPU sees them: `frames_in_flight` − 1 pictures before the one recorded may still be read."""

    def __init__(self, frames_in_flight: int) -> None:
        self.frames_in_flight = frames_in_flight
        self.contents: dict[int, str] = {}
        self.in_flight: list[set[int]] = []

    def begin_picture(self) -> None:
        self.in_flight = self.in_flight[-(self.frames_in_flight - 1) :] if self.frames_in_flight > 1 else []
        self.in_flight.append(set())

    def write(self, plane_set: int, picture: str) -> None:
        assert not any(plane_set in read for read in self.in_flight[:-1]), "written while the GPU may still read it"
        assert plane_set not in self.in_flight[-1], "written twice for one picture"
        self.contents[plane_set] = picture
        self.in_flight[-1].add(plane_set)

    def read(self, plane_set: int, picture: str) -> None:
        assert self.contents[plane_set] == picture, "another picture than was meant"
        self.in_flight[-1].add(plane_set)


@settings(max_examples=500, deadline=None)
@given(st.integers(1, 4), STEPS)
def test_no_order_of_pictures_overwrites_one_in_flight_or_shows_a_wrong_one(
    frames_in_flight: int, steps: list[str]
) -> None:
    """Names: sN came from the source, mN was made up. What is shown, started from and loaded ahead is kept apart."""
    book, gpu = PlaneBook(frames_in_flight), Gpu(frames_in_flight)
    shown = earlier = later = ""
    for serial, step in enumerate(steps):
        gpu.begin_picture()
        if step == "new":
            shown, earlier, later = f"s{serial}", f"s{serial}", ""
            gpu.write(book.show_new(serial), shown)
        elif step == "later" and later:
            shown, earlier, later = later, later, ""
            book.show_later(serial)
        elif step in ("load", "made") or (step == "made again" and later):
            if step != "made again":
                later = f"s{serial}"
                gpu.write(book.load_later(serial), later)
            if earlier and step != "load":
                assert book.earlier is not None
                assert book.later is not None
                gpu.read(book.earlier, earlier)
                gpu.read(book.later, later)
                shown = f"m{serial}"
                gpu.write(book.show_made(serial), shown)
            elif not shown:
                shown = earlier = later
                book.show_early(serial)
        book.keep(serial)
        assert (book.shown is None) == (not shown)
        if book.shown is not None:
            gpu.read(book.shown, shown)


def test_pictures_of_a_source_alone_use_every_own_set_in_turn() -> None:
    book = PlaneBook(3)
    assert [book.show_new(serial) for serial in range(8)] == [0, 1, 2, 3, 0, 1, 2, 3]
