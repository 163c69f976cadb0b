"""The command line, one file a command. Loads no Qt."""
