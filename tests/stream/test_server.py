"""The preview stream's server with real WebSocket clients: who gets in, what they get, and that none harms another."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import http.client
import socket

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect as threaded_connect

from app.ipc.shared_block import SharedBlock
from app.ipc.stream_messages import FromStream, StartStream, StreamFailed
from app.ipc.thumbnail_block import ThumbnailReader, ThumbnailWriter, thumbnail_block_bytes
from app.stream.server import StreamServer, stream_url
from app.stream.viewer import MAX_BYTES_PER_S, MAX_MESSAGE_BYTES
from tests.stream.served import (
    REQUEST_ID,
    TOKEN,
    Served,
    client_that_never_reads,
    next_message,
    serve_for,
    until,
)

WRONG = TOKEN[::-1]


async def refused_status(served: Served, token: str = TOKEN, url: str = "") -> tuple[int, str]:
    with pytest.raises(InvalidStatus) as caught:
        async with served.connect(token, url):
            pass
    return caught.value.response.status_code, (caught.value.response.body or b"").decode()


# --- what a client gets -----------------------------------------------------------------------------------------------


def test_a_client_gets_each_thumbnail_as_a_message_of_the_protocol() -> None:
    async def scenario(served: Served) -> None:
        async with served.connect() as client:
            await served.viewers(1)
            for frame_index in range(3):
                served.write()
                message = await next_message(client)
                assert message.keys() == {"frame_index", "timestamp_ms", "data"}
                assert (message["frame_index"], message["timestamp_ms"]) == (frame_index, float(frame_index))
                assert base64.b64decode(message["data"]).startswith(b"\xff\xd8\xff")

    serve_for(scenario)


def test_a_client_is_not_sent_a_picture_from_before_it_came() -> None:
    async def scenario(served: Served) -> None:
        served.write()
        async with served.connect() as first:
            await served.viewers(1)
            served.write()
            assert (await next_message(first))["frame_index"] == 1
        await served.viewers(0)
        served.write()
        async with served.connect() as second:
            await served.viewers(1)
            served.write()
            assert (await next_message(second))["frame_index"] == 3

    serve_for(scenario)


def test_the_engine_is_told_how_many_look_on_and_so_that_one_is_gone_without_a_word() -> None:
    async def scenario(served: Served) -> None:
        assert served.writer.viewers == 0
        async with served.connect():
            await served.viewers(1)
            async with served.connect() as second:
                await served.viewers(2)
                second.transport.abort()  # gone without a word
                await served.viewers(1)
        await served.viewers(0)

    serve_for(scenario)


def test_a_server_forgets_the_viewers_of_one_that_died_before_it() -> None:
    async def run(reader: ThumbnailReader, writer: ThumbnailWriter) -> None:
        reader.set_viewers(5)
        stop = asyncio.Event()
        server = asyncio.create_task(StreamServer(StartStream("r", TOKEN), reader, lambda _: None).run(stop))
        await until(lambda: writer.viewers == 0)
        stop.set()
        assert await server

    with contextlib.ExitStack() as stack:
        block = stack.enter_context(SharedBlock.create(thumbnail_block_bytes()))
        reader = stack.enter_context(contextlib.closing(ThumbnailReader(block)))
        writer = stack.enter_context(contextlib.closing(ThumbnailWriter(block)))
        asyncio.run(run(reader, writer))


def test_the_status_says_whom_the_server_serves_and_what_that_costs() -> None:
    async def scenario(served: Served) -> None:
        async with served.connect() as client:
            await served.viewers(1)
            served.write()
            await next_message(client)
            await refused_status(served, token=WRONG)
            status = await served.status()
            assert (status.clients, status.sent, status.dropped, status.refused, status.cut) == (1, 1, 0, 1, 0)
            assert status.resident_bytes > 1 << 20
            assert status.cpu_ratio > 0

    serve_for(scenario)


def test_nothing_is_compressed_also_for_a_client_that_asks_for_it() -> None:
    async def scenario(served: Served) -> None:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with connect(served.url, additional_headers=headers, proxy=None, compression="deflate") as client:
            assert client.response is not None
            assert "Sec-WebSocket-Extensions" not in client.response.headers

    serve_for(scenario)


# --- who gets in ------------------------------------------------------------------------------------------------------


def test_a_wrong_token_is_401_and_an_unknown_request_404_each_with_a_sentence() -> None:
    async def scenario(served: Served) -> None:
        assert await refused_status(served, token=WRONG) == (
            401, "The token is missing or wrong: send the header “Authorization: Bearer TOKEN” with this run's token.\n"
        )  # fmt: skip
        status, text = await refused_status(served, url=served.url.replace(REQUEST_ID, "run-2"))
        assert (status, text) == (404, "No such request is running: this server has /v1/preview/run-1 only.\n")

    serve_for(scenario)


def test_a_plain_http_request_is_answered_and_not_let_in() -> None:
    def ask(address: tuple[str, int], headers: dict[str, str]) -> tuple[int, str | None]:
        connection = http.client.HTTPConnection(*address, timeout=10)
        connection.request("GET", f"/v1/preview/{REQUEST_ID}", headers=headers)
        response = connection.getresponse()
        connection.close()
        return response.status, response.getheader("WWW-Authenticate")

    async def scenario(served: Served) -> None:
        assert await asyncio.to_thread(ask, served.address, {}) == (401, 'Bearer realm="preview"')
        status, _ = await asyncio.to_thread(ask, served.address, {"Authorization": f"Bearer {TOKEN}"})
        assert status == 426
        assert (await served.status()).clients == 0

    serve_for(scenario)


def test_the_seventeenth_client_is_refused_with_503_until_one_leaves() -> None:
    async def scenario(served: Served) -> None:
        async with contextlib.AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(served.connect()) for _ in range(16)]
            await served.viewers(16)
            status, text = await refused_status(served)
            assert status == 503
            assert "16 clients watch already" in text
            await clients[0].close()
            await served.viewers(15)
            await stack.enter_async_context(served.connect())
            await served.viewers(16)

    serve_for(scenario)


def test_of_many_that_come_at_the_same_moment_sixteen_get_in() -> None:
    async def scenario(served: Served) -> None:
        release = asyncio.Event()

        async def come() -> int:
            try:
                async with served.connect():
                    await release.wait()
            except InvalidStatus as refusal:
                return refusal.response.status_code
            return 101

        tasks = [asyncio.create_task(come()) for _ in range(40)]
        await until(lambda: sum(task.done() for task in tasks) == 24)
        release.set()
        results = await asyncio.gather(*tasks)
        assert (results.count(101), results.count(503)) == (16, 24)

    serve_for(scenario)


def test_those_that_left_before_they_were_served_take_no_place_for_good() -> None:
    async def scenario(served: Served) -> None:
        for _ in range(40):
            async with client_that_never_reads(served):
                pass
        await served.viewers(0)
        async with served.connect():
            await served.viewers(1)

    serve_for(scenario)


# --- who is cut off ---------------------------------------------------------------------------------------------------


async def close_code(client: ClientConnection) -> int | None:
    with contextlib.suppress(ConnectionClosed):
        async for _ in client:
            pass
    return client.close_code


def code_after_sending(size_bytes: int, url: str) -> int | None:
    """Return the code with which the server closes the connection."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with threaded_connect(url, additional_headers=headers, proxy=None) as client:
        with contextlib.suppress(ConnectionClosed):
            client.send(b"x" * size_bytes)
        with contextlib.suppress(ConnectionClosed):
            client.recv(20)
        return client.close_code


@pytest.mark.parametrize("size_bytes", [MAX_MESSAGE_BYTES + 1, 10_000_000])
def test_a_client_that_sends_a_large_message_is_cut_with_1009_and_the_others_go_on(size_bytes: int) -> None:
    async def scenario(served: Served) -> None:
        async with served.connect() as quiet:
            await served.viewers(1)
            assert await asyncio.to_thread(code_after_sending, size_bytes, served.url) == 1009
            await until(lambda: served.tally.cut == 1)
            await served.viewers(1)
            served.write()
            assert (await next_message(quiet))["frame_index"] == 0

    serve_for(scenario)


@pytest.mark.parametrize("what", ["messages", "pings"])
def test_a_client_that_never_stops_talking_is_cut_with_1008(what: str) -> None:
    async def scenario(served: Served) -> None:
        async with served.connect() as client:
            await served.viewers(1)
            with contextlib.suppress(ConnectionClosed):
                for number in range(MAX_BYTES_PER_S):
                    await (client.send("word") if what == "messages" else client.ping(f"{number}"))
            assert await close_code(client) == 1008
            await until(lambda: served.tally.cut == 1)
            await served.viewers(0)

    serve_for(scenario)


def test_a_client_may_say_little() -> None:
    async def scenario(served: Served) -> None:
        async with served.connect() as client:
            await client.send("x" * MAX_MESSAGE_BYTES)
            await (await client.ping())
            await served.viewers(1)
            served.write()
            await next_message(client)

    serve_for(scenario)


def test_of_sixteen_clients_a_stalled_one_loses_pictures_and_is_cut_while_the_others_miss_none() -> None:
    async def scenario(served: Served) -> None:
        async with contextlib.AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(served.connect()) for _ in range(15)]
            await stack.enter_async_context(client_that_never_reads(served))
            await served.viewers(16)
            while served.writer.viewers == 16:
                frame_index = served.write(noise=True)
                for client in clients:
                    assert (await next_message(client))["frame_index"] == frame_index
            assert 0 < served.tally.dropped < served.written
            assert (served.writer.viewers, served.tally.cut) == (15, 1)
            frame_index = served.write()
            for client in clients:
                assert (await next_message(client))["frame_index"] == frame_index

    serve_for(scenario, stall_s=1.0)


def test_a_slow_client_gets_the_newest_picture_next_and_never_an_older_one() -> None:
    async def scenario(served: Served) -> None:
        async with served.connect() as slow:
            await served.viewers(1)
            slow.transport.pause_reading()
            sent = [served.write(noise=True)]
            while served.tally.dropped < 5:
                sent.append(served.write(noise=True))
                await asyncio.sleep(0.02)
            slow.transport.resume_reading()
            got = [(await next_message(slow))["frame_index"]]
            while got[-1] != sent[-1]:
                got.append((await next_message(slow))["frame_index"])
            assert got == sorted(set(got))
            assert len(got) < len(sent)

    serve_for(scenario)


# --- addresses --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "ws://127.0.0.1:80/v1/preview/run"),
        ("::1", "ws://[::1]:80/v1/preview/run"),
        ("0.0.0.0", "ws://127.0.0.1:80/v1/preview/run"),  # noqa: S104 - an address, not bound
        ("::", "ws://[::1]:80/v1/preview/run"),
        ("localhost", "ws://localhost:80/v1/preview/run"),
    ],
)
def test_an_address_can_be_opened_as_it_is_written(host: str, url: str) -> None:
    assert stream_url(host, 80, "run") == url


def refusal_to_listen(host: str, port: int) -> str:
    async def run(reader: ThumbnailReader) -> list[FromStream]:
        reports: list[FromStream] = []
        assert not await StreamServer(StartStream("r", "t", host, port), reader, reports.append).run(asyncio.Event())
        return reports

    with SharedBlock.create(thumbnail_block_bytes()) as block, contextlib.closing(ThumbnailReader(block)) as reader:
        (report,) = asyncio.run(run(reader))
    assert isinstance(report, StreamFailed)
    return report.text


def test_a_port_that_is_taken_is_told_with_a_cure() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        text = refusal_to_listen("127.0.0.1", port)
    assert text == (
        f"the preview stream cannot listen on 127.0.0.1, port {port} (Address already in use); "
        "choose a port that is free, or 0 for any"
    )


def test_an_address_of_another_machine_is_told_with_a_cure() -> None:
    assert "choose an address of this machine" in refusal_to_listen("192.0.2.1", 0)
