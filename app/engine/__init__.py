"""The engine: the child process in which the measured pipeline runs. No Qt, ever."""
