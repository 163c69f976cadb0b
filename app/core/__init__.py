"""Facts shared by every process: clock, record dtypes, metric table, vocabulary and errors.

Imports numpy and the standard library only.
"""
