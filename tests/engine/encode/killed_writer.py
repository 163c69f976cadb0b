"""A process that encodes at 60 fps for ever: `killed_writer.py FILE KEYS`. Prints the last frame whose packet came out.

It is there to be killed.
"""

from __future__ import annotations

import json
import sys
import time

from app.engine.encode.branch import open_encode_branch
from tests.engine.encode.pictures import INTERVAL_60_NS, config_of, moving_picture


def main(destination: str, keys: str) -> None:
    branch = open_encode_branch(config_of(depth=8, **json.loads(keys)), destination, lambda _: None)
    pictures = [moving_picture(number) for number in range(60)]
    started_ns, number = time.monotonic_ns(), 0
    while True:
        branch.offer(number, 0, 1, number * INTERVAL_60_NS, INTERVAL_60_NS, pictures[number % 60])
        rows = branch.take_records()
        if len(rows):
            sys.stdout.write(f"{rows['frame_id'].max()}\n")
            sys.stdout.flush()
        number += 1
        time.sleep(max(0, started_ns + number * INTERVAL_60_NS - time.monotonic_ns()) / 1e9)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
