"""The far program as a zip file, made of the modules that run on another machine."""

import hashlib
import io
from functools import cache
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from weft.ports.machines import FarProgram

_PACKAGE = Path(__file__).parents[1]
_FOLDERS = ("hosts/supervisor", "hosts/far")
_MODULES = (
    "errors.py",
    "safe_files.py",
    "search_path.py",
    "system_errors.py",
    "threads.py",
    "hosts/reach.py",
)
_EMPTY = ("__init__.py", "hosts/__init__.py")
"""The packages around them; the real one of Weft would load too much."""


@cache
def far_program() -> FarProgram:
    """Returns the program. The same sources give the same bytes."""
    modules = {name: (_PACKAGE / name).read_bytes() for name in _MODULES}
    for folder in _FOLDERS:
        modules |= {f"{folder}/{file.name}": file.read_bytes() for file in (_PACKAGE / folder).glob("*.py")}
    modules |= dict.fromkeys(_EMPTY, b"")
    files = {f"weft/{name}": content for name, content in modules.items()}
    files["__main__.py"] = modules["hosts/far/__main__.py"]
    content = _zip(files)
    return FarProgram(content=content, digest=hashlib.sha256(content).hexdigest()[:32])


def _zip(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    # Uncompressed, because versions of the compression differ in their bytes.
    with ZipFile(buffer, "w", ZIP_STORED) as archive:
        for name in sorted(files):
            archive.writestr(ZipInfo(name), files[name])  # a ZipInfo without a time has the one of 1980
    return buffer.getvalue()
