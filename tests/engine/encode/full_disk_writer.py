"""Encodes into a file that may not grow any more: `full_disk_writer.py FILE`. Prints the error that comes of it.

A limit on the size of files stands for a full disk, which takes a right to make.
"""

from __future__ import annotations

import resource
import sys
from fractions import Fraction
from pathlib import Path

from tests.engine.encode.test_packet_file import packet_file, write_frames


def main(path: Path) -> None:
    file = packet_file(path)
    file.begin("libx264", Fraction(60), 320, 192)
    write_frames(file, 60)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 1000, resource.RLIM_INFINITY))
    try:
        write_frames(file, 600, first=60)
    except OSError as error:
        sys.stdout.write(f"{error.strerror}\n")
    file.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
