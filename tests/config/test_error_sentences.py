"""Golden sentences: every kind of error that a VeoConfig file can have, whole."""

from __future__ import annotations

import pytest

from app.config.store import parse_config
from app.core.errors import InvalidInputError

GOLDEN = {
    # numbers
    '{"frame_queue_depth": 0}': ["frame_queue_depth: 0 is outside 1–64 frames (line 1, column 23); use 1 or more"],
    '{"frame_queue_depth": 65}': ["frame_queue_depth: 65 is outside 1–64 frames (line 1, column 23); use 64 or less"],
    '{"render_latency_ms": 500.5}': [
        "render_latency_ms: 500.5 is outside 0–500 ms (line 1, column 23); use 500 or less"
    ],
    '{"memory_clock_offset_mhz": -3000}': [
        "memory_clock_offset_mhz: -3000 is outside -2000 to 2000 MHz (line 1, column 29); use -2000 or more"
    ],
    '{"frame_queue_depth": 2.5}': [
        "frame_queue_depth: 2.5 is not a whole number in 1–64 frames (line 1, column 23); use 2"
    ],
    '{"frame_queue_depth": true}': [
        "frame_queue_depth: true is not a whole number in 1–64 frames (line 1, column 23); write a number, such as 4"
    ],
    '{"frame_queue_depth": "8"}': [
        'frame_queue_depth: "8" is not a whole number in 1–64 frames (line 1, column 23); write 8 without quotes'
    ],
    '{"frame_queue_depth": null}': [
        (
            "frame_queue_depth: null is not a whole number in 1–64 frames (line 1, column 23); "
            "leave the key out to take its default"
        )
    ],
    '{"render_latency_ms": [33]}': [
        "render_latency_ms: [33] is not a number in 0–500 ms (line 1, column 23); write a number, such as 33.3"
    ],
    '{"encoder": {"cq": 52}}': ["encoder.cq: 52 is outside 0–51 (line 1, column 20); use 51 or less"],
    '{"encoder": {"cq": "low"}}': [
        'encoder.cq: "low" is not a whole number in 0–51, or null (line 1, column 20); write a number, such as 0'
    ],
    # flags, texts, choices
    '{"enable_preview": 1}': [
        "enable_preview: 1 is not true or false (line 1, column 20); write true or false, without quotes"
    ],
    '{"name": 5}': ["name: 5 is not text (line 1, column 10); write it in double quotes"],
    '{"present_mode": "MAILBOKS"}': [
        (
            'present_mode: "MAILBOKS" is not one of FIFO, FIFO_RELAXED, FIFO_LATEST_READY, MAILBOX, IMMEDIATE '
            "(line 1, column 18); did you mean MAILBOX?"
        )
    ],
    '{"overflow_policy": 3}': [
        'overflow_policy: 3 is not one of block, drop_oldest, drop_newest (line 1, column 21); use "block", the default'
    ],
    # lists and objects
    '{"gpu_clock_lock_mhz": [1500]}': [
        (
            "gpu_clock_lock_mhz: [1500] is not [minimum, maximum], two whole numbers in 1–10000 MHz, or null "
            "(line 1, column 24); write it as [1500, 1800]"
        )
    ],
    '{"gpu_clock_lock_mhz": [1, 2, 3]}': [
        (
            "gpu_clock_lock_mhz: [1, 2, 3] is not [minimum, maximum], two whole numbers in 1–10000 MHz, or null "
            "(line 1, column 24); write it as [1500, 1800]"
        )
    ],
    '{"gpu_clock_lock_mhz": 1500}': [
        (
            "gpu_clock_lock_mhz: 1500 is not [minimum, maximum], two whole numbers in 1–10000 MHz, or null "
            "(line 1, column 24); write it as [1500, 1800]"
        )
    ],
    '{"gpu_clock_lock_mhz": [0, 1500]}': [
        "gpu_clock_lock_mhz[0]: 0 is outside 1–10000 MHz (line 1, column 25); use 1 or more"
    ],
    '{"gpu_clock_lock_mhz": [1800, 1500]}': [
        "gpu_clock_lock_mhz: has its minimum above its maximum (1800 > 1500 MHz) (line 1, column 2); write [1500, 1800]"
    ],
    '{"realtime": {"cpus": 3}}': [
        (
            "realtime.cpus: 3 is not a list of whole numbers in 0–4095 (line 1, column 23); "
            "write it as [2, 3], or [] for none"
        )
    ],
    '{"realtime": {"cpus": [1, 1]}}': ["realtime.cpus: names a CPU twice (line 1, column 15); name each CPU once"],
    '{"provenance": []}': ["provenance: [] is not an object (line 1, column 16); write it as {…}"],
    '{"thermal_guard": true}': ["thermal_guard: true is not an object (line 1, column 19); write thermal_guard as {…}"],
    '{"memory_timings": 16}': [
        (
            "memory_timings: 16 is not an object with tCL, tRCD, tRP, tRAS, whole numbers in 1–255 cycles, or null "
            "(line 1, column 20); give every field, or write null"
        )
    ],
    '{"memory_timings": {"tCL": 16, "tRCD": 0, "tRP": 18}}': [
        (
            "memory_timings.tRAS: is missing (line 1, column 2); "
            "give all of tCL, tRCD, tRP, tRAS, or set memory_timings to null"
        ),
        "memory_timings.tRCD: 0 is outside 1–255 cycles (line 1, column 40); use 1 or more",
    ],
    '{"frame_compensation": {"table": []}}': [
        (
            "frame_compensation.table: has 0 rows, not 1–32 (line 1, column 25); "
            "give one row [delay in ms, rate in fps] for each step"
        )
    ],
    '{"frame_compensation": {"table": [[40, 60], [80]]}}': [
        ("frame_compensation.table[1]: [80] is not a row of two numbers (line 1, column 45); write it as [40, 60]")
    ],
    '{"frame_compensation": {"table": [[40, "60"]]}}': [
        (
            'frame_compensation.table[0][1]: "60" is not a number in 0–10000 ms, fps (line 1, column 40); '
            "write 60 without quotes"
        )
    ],
    '{"frame_compensation": {"table": [[80, 60], [40, 45]]}}': [
        (
            "frame_compensation.table: goes from 80 ms to 40 ms (line 1, column 25); "
            "sort the rows by rising delay, each delay once"
        )
    ],
    '{"frame_compensation": {"table": [[40, 45], [80, 60]]}}': [
        (
            "frame_compensation.table: rises from 45 fps to 60 fps (line 1, column 25); "
            "let the rate fall or stay as the delay rises"
        )
    ],
    '{"frame_compensation": {"table": [[40, 0]]}}': [
        (
            "frame_compensation.table: has a rate outside 1–500 fps (line 1, column 25); "
            "write each row as [delay in ms, rate in fps]"
        )
    ],
    # rules between values
    '{"encoder": {"bitrate_kbps": 5000, "cq": 20}}': [
        (
            "encoder.cq: excludes bitrate_kbps (5000 kbit/s) (line 1, column 36); "
            "set one of the two to null, or leave one out"
        )
    ],
    '{"encoder": {"bitrate_kbps": 5000, "max_rate_kbps": 4000}}': [
        (
            "encoder.max_rate_kbps: is below bitrate_kbps (5000 kbit/s) (line 1, column 36); "
            "use 5000 kbit/s or more, or null for no ceiling"
        )
    ],
    '{"alerts": {"band_low_us": 3000}}': [
        "alerts.band_high_us: is below band_low_us (3000 µs) (line 1, column 2); use 3000 µs or more"
    ],
    '{"preview_fps": 1e-300}': [
        (
            "preview_fps: is above 0, the source's own rate, yet below 0.001 fps (line 1, column 2); "
            "use 0, or 0.001 fps or more"
        )
    ],
    '{"bandwidth_guard": {"reduced_fps": 144}}': [
        "bandwidth_guard.reduced_fps: is above max_fps (120 fps) (line 1, column 22); use 120 fps or less"
    ],
    # keys
    '{"render_latency": 33}': [
        (
            "render_latency: is not an option (line 1, column 2); "
            "did you mean render_latency_ms? Else remove it, or begin its name with x_ to keep it"
        )
    ],
    '{"thermal_guard": {"start": 70}}': [
        (
            "thermal_guard.start: is not an option (line 1, column 20); "
            "did you mean thermal_guard.start_c? Else remove it, or begin its name with x_ to keep it"
        )
    ],
    '{"zzz": 1}': [
        (
            "zzz: is not an option (line 1, column 2); "
            "see `veotuner schema` for all keys, remove it, or begin its name with x_ to keep it"
        )
    ],
    '{"frame_queue_depth": 4,\n "frame_queue_depth": 70}': [
        "frame_queue_depth: is given twice, first in line 1, column 2 (line 2, column 2); keep one of the two",
        "frame_queue_depth: 70 is outside 1–64 frames (line 2, column 23); use 64 or less",
    ],
    # schema
    '{"schema": "veoconfig/2"}': [
        (
            'schema: "veoconfig/2" was written by a newer version (the newest this version reads is veoconfig/1) '
            "(line 1, column 12); update VeoTuner"
        )
    ],
    '{"schema": 1}': ['schema: 1 is not "veoconfig/1" (line 1, column 12); write "veoconfig/1", or leave the key out'],
    '{"schema": "veoconfig/0"}': [
        'schema: "veoconfig/0" is not "veoconfig/1" (line 1, column 12); write "veoconfig/1", or leave the key out'
    ],
    # several at once, in the order of the lines, also beside faults of the text itself
    '{"name": "",\n"memory_timings": {"tCL": NaN, "tRCD": 1, "tRP": 1, "tRAS": 1},\n"min_image_count": 9,}': [
        "memory_timings.tCL: NaN is no number in JSON (line 2, column 27); write a finite number, or leave the key out",
        "min_image_count: 9 is outside 2–8 images (line 3, column 20); use 8 or less",
        "a comma stands before the } (line 3, column 21); remove the comma",
    ],
}


@pytest.mark.parametrize("text", GOLDEN)
def test_each_error_of_a_file_has_its_sentence(text: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_config(text.encode())
    assert [problem.sentence() for problem in caught.value.problems] == GOLDEN[text]
