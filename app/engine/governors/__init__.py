"""Governors: pure rules that lower the rate, the bitrate or the haste, each (rule, state, measurements) → verdict."""
