"""The program `weft`, also as `python -m weft`."""

import sys

from weft import __version__


def main() -> None:
    """Runs the command line and ends the process."""
    if sys.argv[1:] not in (["--version"], ["-V"]) or not _print_version():
        from weft.garbage import search_rarely  # noqa: PLC0415

        search_rarely()  # before the imports, which make many objects that stay
        from weft.cli import main as run_command_line  # noqa: PLC0415 - slow to load

        run_command_line()


def _print_version() -> bool:
    """Returns whether the version was written. If not, the command line tries again and reports the error."""
    try:
        print(f"weft {__version__}", flush=True)  # noqa: T201
    except OSError:
        return False
    return True


if __name__ == "__main__":
    main()
