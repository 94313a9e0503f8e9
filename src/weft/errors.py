"""The errors that a caller can handle.

WeftError
├── InputError                  the input is wrong; nothing has been done (exit code 2)
│   ├── NetError                an invalid net: duplicate id, unknown place, bad weight
│   ├── TooManyInvariantsError  a search beyond its limit (in `weft.net.invariants`)
│   ├── FileFormatError         a file with invalid content; has file, line and column
│   ├── PlanError               a plan or configuration; has all its problems (in `weft.plan.text.problems`)
│   │   └── ConvertError        a plan of another system (in `weft.plan.convert`)
│   ├── VariablesError          settings in environment variables (in `weft.plan.loader.variables`)
│   ├── NotApprovedError        commands of a project without the user's approval (in `weft.app.project.approval`)
│   ├── TooLargeToDrawError     a picture that is too large to read (in `weft.plan.pictures`)
│   ├── PreflightError          a machine or repository where a run would fail (in `weft.app.preflight.findings`)
│   ├── ConfigError             a setting of the wrong type or out of its range
│   └── SubplanTreeError        a cycle, an unknown dependency, something that cannot be called
├── MoveError                   a move that the net does not allow; the marking is as it was
│   ├── NotEnabledError         begin: tokens are missing
│   ├── NotRunningError         finish: no such firing is in flight
│   └── UnknownOutcomeError     finish: the transition declares no such outcome
├── StateError                  a change of a subplan's state that is not allowed
├── RenderError                 a template does not fit the values there are (in `weft.plan.templates.values`)
├── ConflictError               subplans changed the same files differently (in `weft.ports.workspaces`)
├── WorkspaceError              a workspace is not as it was left (in `weft.workspaces.errors`)
├── AnswerRefusedError          the agent's answers are invalid (in `weft.app.decompose.refine`)
├── BusyError                   another process runs plans here (in `weft.store.errors`)
├── DamagedError                the journal does not hold what was written (in `weft.store.errors`)
├── LeaseLostError              another process has taken over (in `weft.store.errors`)
└── SubplanExecutionError       a subplan failed (in `weft.subplans.results`, as is its group)

A bug in Weft is none of these.
"""

from collections.abc import Iterator


class WeftError(Exception):
    """Base of all errors that Weft raises on purpose."""

    def lines(self) -> Iterator[str]:
        """Yields the lines for the user."""
        yield f"error: {self}"


class InputError(WeftError):
    """The input is wrong; nothing has been done."""


class NetError(InputError):
    """The given places, transitions and arcs do not form a net."""


class FileFormatError(InputError):
    """A file has invalid content."""

    def __init__(
        self, message: str, *, file: str, line: int | None = None, column: int | None = None
    ) -> None:
        self.bare_message = message
        """The message without the position."""
        self.file = file
        self.line = line
        self.column = column
        where = ":".join(str(part) for part in (file, line, column) if part is not None)
        super().__init__(f"{where}: {message}")


class ConfigError(InputError):
    """A setting has the wrong type or is out of range."""


class SubplanTreeError(InputError):
    """The given subplans cannot be run: cycle, unknown dependency, duplicate id, not callable."""


class MoveError(WeftError):
    """The net does not allow this move; nothing has changed."""


class NotEnabledError(MoveError):
    """The transition lacks tokens."""


class NotRunningError(MoveError):
    """No such firing is in flight: it never began, or has ended."""


class UnknownOutcomeError(MoveError):
    """The transition declares no outcome of this name."""


class StateError(WeftError):
    """A subplan cannot change from its state to the requested one."""
