"""An address that cannot be had gets a sentence with its cure, whatever is wrong with it."""

from __future__ import annotations

import pytest

from app.ipc.stream_address import address_refused, listen


def refusal(host: str, port: int) -> str:
    with pytest.raises(OSError, match=r".") as refused:
        listen(host, port)
    return address_refused(host, port, refused.value)


@pytest.mark.parametrize("host", ["192.0.2.1", "no..host", "x" * 70, "2001:db8::1"])
def test_a_host_that_is_not_this_machine_is_named_with_what_to_do(host: str) -> None:
    text = refusal(host, 0)
    assert text.startswith(f"the preview stream cannot listen on {host} (")
    assert text.endswith("); choose an address of this machine")


def test_a_port_that_is_taken_is_named_with_what_to_do() -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        assert f"127.0.0.1, port {port} (Address already in use); choose a port" in refusal("127.0.0.1", port)
