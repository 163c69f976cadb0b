"""The wire form of the messages of a control channel: one JSON object each, its class name under `"type"`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, Final, Generic, TypeVar

MAX_MESSAGE_BYTES: Final = 1 << 20
"""Longest message of a control channel; a longer one is refused at both ends."""

MessageT = TypeVar("MessageT")


class MessageCodec(Generic[MessageT]):
    """Turns the frozen dataclasses of one channel into bytes and back.

    Args:
        classes: the messages of the channel.
        parts: field → dataclass of the object, or of each object of the list, that stands in it.
    """

    def __init__(self, classes: Iterable[type[Any]], parts: Mapping[str, type[Any]] | None = None) -> None:
        self._classes = {cls.__name__: cls for cls in classes}
        self._parts = dict(parts or {})

    def encode(self, message: MessageT) -> bytes:
        """Return the wire form.

        Raises:
            ValueError: it is longer than `MAX_MESSAGE_BYTES`, or holds a number that JSON has not (NaN, infinity).
        """
        fields: dict[str, Any] = asdict(message)  # type: ignore[call-overload]  # a channel's messages are dataclasses
        data = json.dumps({"type": type(message).__name__, **fields}, allow_nan=False).encode()
        if len(data) > MAX_MESSAGE_BYTES:
            raise ValueError(f"{type(message).__name__} is {len(data)} bytes, more than {MAX_MESSAGE_BYTES}")
        return data

    def decode(self, data: bytes) -> MessageT:
        """Return the message of a wire form.

        Raises:
            ValueError: not JSON, not an object, an unknown type, or fields that do not fit it.
        """
        if len(data) > MAX_MESSAGE_BYTES:
            raise ValueError(f"message of {len(data)} bytes is longer than {MAX_MESSAGE_BYTES}")
        return self.from_object(json.loads(data))

    def from_object(self, content: Any) -> MessageT:
        """Return the message of a wire form that has been read as JSON.

        Raises:
            ValueError: not an object, an unknown type, or fields that do not fit it.
        """
        if not isinstance(content, dict):
            raise ValueError("a control message is a JSON object")  # noqa: TRY004 - bad data, not a bad argument
        fields = dict(content)
        name = fields.pop("type", None)
        if not isinstance(name, str) or name not in self._classes:
            raise ValueError(f"unknown control message {name!r}")
        try:
            message: MessageT = self._classes[name](**{key: self._revived(key, fields[key]) for key in fields})
        except TypeError as error:
            raise ValueError(f"{name}: {error}") from error
        return message

    def _revived(self, key: str, value: Any) -> Any:
        part = self._parts.get(key)
        if part is not None and isinstance(value, dict):
            return part(**value)
        if part is not None and isinstance(value, list):
            return [part(**each) for each in value]
        return value
