"""The command line of a Python process that runs a module of Weft, and nothing that the project brings.

`python -m weft` puts the current directory first on its path, so a repository with a file `types.py` or `anyio.py`
would run it. PYTHONPATH does the same if an entry is empty or relative, and a plan may set it for its steps. Each
Python process of Weft is therefore isolated (`-I`): it uses neither the current directory nor PYTHON* variables.

Isolated, it finds what is installed for the interpreter or in its virtual environment. If this process found Weft
or its dependencies elsewhere (on PYTHONPATH, in the user's own packages, in an archive), the new process gets the
same path, less the current directory.
"""

import os
import sys

_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - pathlib is slow to load
_INSTALLED = tuple(
    os.path.join(prefix, "")  # noqa: PTH118 - pathlib is slow to load
    for prefix in (sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix)
)


def isolated_python(module: str) -> tuple[str, ...]:
    """Returns the command; the arguments of the module follow it."""
    options = ("-I", "-B") if sys.dont_write_bytecode else ("-I",)
    path = _search_path()
    if all(entry.startswith(_INSTALLED) for entry in path):
        return (sys.executable, *options, "-m", module)
    run = f"import runpy; runpy.run_module({module!r}, run_name='__main__', alter_sys=True)"
    return (sys.executable, *options, "-c", f"import sys; sys.path[:] = {path!r}; {run}")


def _search_path() -> list[str]:
    """Returns the module path of this process, without the current directory and that of the program."""
    # Unless -P or -I is given, the first entry is the directory of the script, or the current one.
    entries = sys.path if sys.flags.safe_path else sys.path[1:]
    kept = [entry for entry in entries if os.path.isabs(entry) and entry != _current_directory()]  # noqa: PTH117 - slow to load
    return kept if _OWN in kept else [_OWN, *kept]


def _current_directory() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 - slow to load
    except FileNotFoundError:
        return ""
