"""The ids of jobs: `<run>.<firing>.<execution>`, and `.<round>` where something is repeated; names of outputs."""

import re

from msgspec import Struct
from msgspec.structs import replace

from weft.engine.messages.step_refs import ExecutionKey, StepRef
from weft.ids import file_name

_ID = re.compile(r"(.+?)\.(\d+)\.(\d+)(?:\.(\d+))?")


class JobId(Struct, frozen=True):
    """The id of a job that belongs to an execution. Other jobs, such as those of the landing queue, have names."""

    run: str
    firing: int
    execution: int
    round: int = 0

    def __str__(self) -> str:
        again = f".{self.round}" if self.round else ""
        return f"{self.run}.{self.firing}.{self.execution}{again}"

    @property
    def key(self) -> ExecutionKey:
        return ExecutionKey(self.firing, self.execution)


def output_name(ref: StepRef) -> str:
    """The name of the output of an execution."""
    return f"{file_name(ref.subplan)}/{ref.step}.{ref.attempt}.{ref.key.firing}-{ref.key.execution}"


def parse_job_id(job: str) -> JobId | None:
    """Returns the parts of an id; None for a job with a name."""
    match = _ID.fullmatch(job)
    if match is None:
        return None
    return JobId(match[1], int(match[2]), int(match[3]), int(match[4] or 0))


def without_round(job: str) -> str:
    """Returns the id of the first job of the same execution; the id itself of a job with a name."""
    parts = parse_job_id(job)
    return job if parts is None else str(replace(parts, round=0))


def round_of(job: str) -> int:
    parts = parse_job_id(job)
    return 0 if parts is None else parts.round
