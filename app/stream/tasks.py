"""Works that belong together: when one ends, all do."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine


async def run_until_one_ends(*works: Coroutine[object, object, None]) -> None:
    """Run all of them until the first ends, cancel the others, and raise what ended it if that was a fault."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    for task in done:
        task.result()
