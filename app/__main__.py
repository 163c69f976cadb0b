"""`python -m app`: the same as the `veotuner` command."""

from app.cli.main import main

if __name__ == "__main__":
    main()
