"""Programs on a PATH of their own."""

from pathlib import Path


class Programs:
    """A machine that has these programs, and an empty home."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / "bin"
        self.home = root / "home"
        for folder in (self.folder, self.home):
            folder.mkdir()

    @property
    def environ(self) -> dict[str, str]:
        return {"PATH": str(self.folder), "HOME": str(self.home)}

    def add(self, name: str, script: str = "echo 1.2.3") -> Path:
        program = self.folder / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        return program
