"""Paths of the coordinator's machine in what a job is given, translated into those of another machine."""

import re
from collections.abc import Mapping
from pathlib import PurePath

from msgspec import Struct
from msgspec.structs import replace

from weft.ids import file_name
from weft.ports.host import Job, OutputPart

_WORKSPACES = "files"
_REPORT = f".{OutputPart.REPORT}"


class LocalPaths(Struct, frozen=True, kw_only=True):
    """The directories of a run on the coordinator's machine."""

    logs: str
    homes: str
    plan: str = ""
    """The directory of the plan; empty if jobs have no workspaces."""
    inside: str = ""
    """Its path within the repository, and so within each workspace."""


class PathMap:
    """Directories here, each with the one there that stands for it; the longest that fits counts."""

    def __init__(self, directories: Mapping[str, str]) -> None:
        self._directories = {here: there for here, there in directories.items() if here not in {"", "/"}}
        names = "|".join(re.escape(here) for here in sorted(self._directories, key=len, reverse=True))
        # A path begins and ends where no name continues: `/a/b` is not in `/x/a/b`, nor in `/a/bc`.
        self._pattern = re.compile(rf"(?<![\w./-])(?:{names})(?![\w.-])") if names else None

    def path(self, path: str) -> str:
        """Translates a path; one that is in no directory of the map is returned as it is."""
        for folder in (path, *map(str, PurePath(path).parents)):
            if folder in self._directories:
                return self._directories[folder] + path[len(folder) :]
        return path

    def text(self, text: str) -> str:
        """Translates the paths in a text, such as a script, a prompt or a list of directories."""
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda match: self._directories[match[0]], text)


class FarPaths:
    """The directories of a run on another machine."""

    def __init__(self, here: LocalPaths, run_directory: str) -> None:
        self._here = here
        self._run = run_directory

    def translate(self, job: Job) -> Job:
        """Returns the job as that machine understands it."""
        paths = self._map(job)
        env = {name: paths.text(value) for name, value in {**job.shared, **job.env}.items()}
        return replace(
            job,
            commands=tuple(tuple(paths.text(word) for word in command) for command in job.commands),
            cwd=paths.path(job.cwd),
            env=env,
            shared={},
            stdin=None if job.stdin is None else paths.text(job.stdin),
            output=f"{self._run}/logs/{job.output}",
        )

    def _map(self, job: Job) -> PathMap:
        here = self._here
        directories = {here.logs: f"{self._run}/logs", here.homes: f"{self._run}/homes"}
        if job.subplan and here.plan:
            workspace = f"{self._run}/{_WORKSPACES}/{file_name(job.subplan)}"
            inside = f"/{here.inside}" if here.inside else ""
            # The repository first, so that its workspaces, which may be below it, have the last word.
            directories = {here.plan.removesuffix(inside): workspace, **directories}
            directories[job.cwd.removesuffix(inside)] = workspace
        return PathMap(directories)

    def folders(self, job: Job) -> list[str]:
        """Returns the directories that a translated job needs: for its report, and its home."""
        report = job.env.get("WEFT_RESULT", "")
        homes = f"{self._run}/homes/"
        in_homes = (value for value in job.env.values() if value.startswith(homes) and ":" not in value)
        folders = {place for place in in_homes if not _is_file(place.removeprefix(homes))}
        if report.startswith(self._run):
            folders.add(report.rpartition("/")[0])
        return sorted(folders)


def _is_file(place: str) -> bool:
    """Returns whether a place among the homes is a file in one of them. The name of a home may have a dot."""
    _, _, inside = place.partition("/")
    return bool(PurePath(inside).suffix)


def report_of(job: Job, logs: str) -> str:
    """Returns the output with the report of a job, which may be another one than its own; see `boxed_prefix`."""
    file = job.env.get("WEFT_RESULT", "")
    if file.startswith(f"{logs}/") and file.endswith(_REPORT):
        return file[len(logs) + 1 : -len(_REPORT)]
    return job.output
