"""The tables written out by hand are what libwayland reads: numbers of arguments, of types, and of messages."""

from __future__ import annotations

import pytest

from app.engine.wayland.library import open_library
from app.engine.wayland.protocol import INTERFACES, Interface, InterfaceTables, argument_letters

OBJECTS = "on"


@pytest.fixture(scope="module")
def tables() -> InterfaceTables:
    return InterfaceTables(open_library())


@pytest.mark.parametrize("interface", INTERFACES, ids=lambda interface: interface.name)
def test_every_object_argument_has_a_type_and_nothing_else_has(interface: Interface) -> None:
    for message in (*interface.requests, *interface.events):
        letters = argument_letters(message.signature)
        assert len(message.types) == sum(letter in OBJECTS for letter in letters), message
        assert set(letters) <= set("iufsonah"), message


@pytest.mark.parametrize("interface", INTERFACES, ids=lambda interface: interface.name)
def test_libwayland_sees_every_message_where_it_was_written(interface: Interface, tables: InterfaceTables) -> None:
    ffi = open_library().ffi
    table = tables[interface.name]
    assert (ffi.string(table.name).decode(), table.version) == (interface.name, interface.version)
    assert (table.method_count, table.event_count) == (len(interface.requests), len(interface.events))
    for opcode, message in enumerate(interface.requests):
        assert tables.request(interface.name, message.name) == (opcode, message.signature)
        types = iter(message.types)
        for position, letter in enumerate(argument_letters(message.signature)):
            name = next(types) if letter in OBJECTS else ""
            expected = tables[name] if name else ffi.NULL
            assert table.methods[opcode].types[position] == expected
    assert tables.events(interface.name) == [(event.name, event.signature) for event in interface.events]


def test_the_librarys_own_interfaces_are_read_by_name(tables: InterfaceTables) -> None:
    assert tables.request("wl_registry", "bind") == (0, "usun")
    assert tables.request("wl_surface", "commit") == (6, "")
    assert tables.events("wl_registry") == [("global", "usu"), ("global_remove", "u")]


@pytest.mark.parametrize(("signature", "letters"), [("", ""), ("5a", "a"), ("n?oo", "noo"), ("4ii", "ii")])
def test_marks_of_version_and_nullability_are_no_arguments(signature: str, letters: str) -> None:
    assert argument_letters(signature) == letters
