"""What each NVML return code means for us: whether to ask again, and what to tell the user."""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

from app.telemetry.calls import CallFailedError, Outcome, failed, unavailable


class Handling(Enum):
    """What to do after an error."""

    GIVE_UP = "give up"
    """This device will not answer this call in this session."""
    RETRY = "retry"
    """Normal; ask again at the next turn."""
    RETRY_NOW = "retry now"
    """A size changed between two calls: ask once more at once."""
    REOPEN = "reopen"
    """The handle or the library state is gone: drop it, find the device again with back-off."""


class Meaning(NamedTuple):
    """One return code: its handling, what happened, and the cure ("" when there is nothing to do)."""

    handling: Handling
    text: str
    cure: str = ""


UNKNOWN_CODE: Final = 999

MEANINGS: Final[dict[int, Meaning]] = {
    1: Meaning(Handling.REOPEN, "the driver library is not initialised"),
    2: Meaning(Handling.GIVE_UP, "the driver does not know this request (invalid argument)"),
    3: Meaning(Handling.GIVE_UP, "not supported by this GPU or driver"),
    4: Meaning(Handling.GIVE_UP, "needs administrator rights", "start VeoTuner as a user who may read this GPU"),
    5: Meaning(Handling.RETRY, "the driver library was already initialised"),
    6: Meaning(Handling.RETRY, "the driver has no such entry now"),
    7: Meaning(Handling.RETRY_NOW, "the answer grew while it was read"),
    8: Meaning(Handling.RETRY, "the GPU's power cable is not connected properly", "connect the external power cables"),
    9: Meaning(
        Handling.REOPEN,
        "the NVIDIA kernel driver is not loaded",
        "load it (modprobe nvidia) or install the driver of your distribution and reboot",
    ),
    10: Meaning(Handling.RETRY, "the driver did not answer in time"),
    11: Meaning(
        Handling.RETRY,
        "the kernel reports an interrupt problem with the GPU",
        "look at the kernel log (dmesg) for interrupt messages",
    ),
    12: Meaning(
        Handling.REOPEN,
        "the NVIDIA driver library (libnvidia-ml.so.1) is not installed",
        "install the NVIDIA driver; in a container start it with the NVIDIA run-time and "
        "NVIDIA_DRIVER_CAPABILITIES=utility,video,graphics",
    ),
    13: Meaning(Handling.GIVE_UP, "this driver is too old for this reading", "update the NVIDIA driver"),
    14: Meaning(Handling.GIVE_UP, "the GPU's infoROM is corrupted"),
    15: Meaning(
        Handling.REOPEN,
        "the GPU has fallen off the bus",
        "save your work and reboot; look at the kernel log (dmesg) for Xid messages",
    ),
    16: Meaning(Handling.REOPEN, "the GPU must be reset", "close every program that uses it, then reset it or reboot"),
    17: Meaning(
        Handling.GIVE_UP,
        "the operating system blocks this GPU (cgroup or container)",
        "give the container access to the device",
    ),
    18: Meaning(
        Handling.REOPEN,
        "driver library and kernel module are of different versions (updated without a reboot)",
        "reboot, or reload the NVIDIA kernel modules",
    ),
    19: Meaning(Handling.RETRY, "the GPU is in exclusive use by another program"),
    20: Meaning(Handling.RETRY, "the driver ran out of memory"),
    21: Meaning(Handling.RETRY, "the driver has no data yet"),
    22: Meaning(Handling.GIVE_UP, "not available while ECC is on for a virtual GPU"),
    23: Meaning(Handling.RETRY, "the driver lacks resources for this request"),
    24: Meaning(Handling.RETRY, "this frequency is not supported"),
    25: Meaning(Handling.GIVE_UP, "this driver knows another version of this request", "update the NVIDIA driver"),
    26: Meaning(Handling.GIVE_UP, "this driver no longer offers this reading (deprecated)"),
    27: Meaning(Handling.RETRY, "the driver is not ready yet"),
    28: Meaning(Handling.REOPEN, "the GPU is no longer there", "check that it is still listed by the system"),
    29: Meaning(Handling.RETRY, "the GPU is in a state that does not allow this"),
    30: Meaning(Handling.GIVE_UP, "this reset type is not supported"),
    UNKNOWN_CODE: Meaning(Handling.RETRY, "the driver reports an unknown error"),
}

_WSL2_UNKNOWN: Final = Meaning(Handling.GIVE_UP, "not delivered by the driver inside WSL2 (it answers: unknown error)")


class DeviceGoneError(Exception):
    """The device handle no longer works; the provider must find the device again."""

    def __init__(self, meaning: Meaning) -> None:
        super().__init__(meaning.text)
        self.meaning = meaning


def meaning_of(code: int, *, wsl2: bool) -> Meaning:
    """Return what a return code means; a code this table does not know is retried and shown by number.

    Args:
        code: NVML return code other than 0.
        wsl2: WSL2's driver answers Unknown for what it does not support (nvidia-ml-py issue 42), so there it is final.
    """
    if code == UNKNOWN_CODE and wsl2:
        return _WSL2_UNKNOWN
    return MEANINGS.get(code, Meaning(Handling.RETRY, f"the driver reports error {code}"))


def sentence(meaning: Meaning) -> str:
    """Return the text with its cure, as one phrase."""
    return f"{meaning.text}: {meaning.cure}" if meaning.cure else meaning.text


def outcome_of(code: int, *, wsl2: bool) -> Outcome:
    """Return the outcome of one metric whose read gave this code.

    Raises:
        DeviceGoneError: the code concerns the whole device.
    """
    meaning = meaning_of(code, wsl2=wsl2)
    if meaning.handling is Handling.REOPEN:
        raise DeviceGoneError(meaning)
    return unavailable(sentence(meaning)) if meaning.handling is Handling.GIVE_UP else failed(sentence(meaning))


def failure_of(code: int, *, wsl2: bool) -> CallFailedError:
    """Return the error that fails a whole call with this code (see `outcome_of`)."""
    return CallFailedError(outcome_of(code, wsl2=wsl2))
