"""The tools of the model: their descriptions, the check of arguments, and the calls."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from weft.agents.builtin.conversation import ToolCall, shorten
from weft.agents.builtin.files import Files, ToolError
from weft.agents.builtin.loop import DONE

MOST_OUTPUT = 30_000
"""Characters of one result that the model receives."""
_KINDS: dict[str, type] = {"string": str, "integer": int, "boolean": bool}


class Parameter(NamedTuple):
    """A parameter of a tool."""

    about: str
    kind: str = "string"
    required: bool = False


class Tool(NamedTuple):
    """A tool as the model sees it."""

    name: str
    about: str
    parameters: Mapping[str, Parameter]
    changes: bool = False
    """Whether it may change something."""

    def describe(self) -> dict[str, Any]:
        """Returns the description for the model, with a JSON schema."""
        properties = {
            name: {"type": parameter.kind, "description": parameter.about}
            for name, parameter in self.parameters.items()
        }
        required = [name for name, parameter in self.parameters.items() if parameter.required]
        schema = {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        }
        return {"name": self.name, "description": self.about, "parameters": schema}


_PATH = "relative to the working directory"

TOOLS = (
    Tool(
        "shell",
        "Run a command in the working directory and get its output and exit code. There is no input, and whatever "
        "it starts is ended when it ends.",
        {
            "command": Parameter("for a shell", required=True),
            "timeout": Parameter("seconds after which it is ended", "integer"),
        },
        changes=True,
    ),
    Tool(
        "read_file",
        "Read a text file.",
        {
            "path": Parameter(_PATH, required=True),
            "first": Parameter("the number of the first line, from 1", "integer"),
            "lines": Parameter("how many lines", "integer"),
        },
    ),
    Tool(
        "write_file",
        "Write a whole file, with the directories it needs.",
        {"path": Parameter(_PATH, required=True), "content": Parameter("all of it", required=True)},
        changes=True,
    ),
    Tool(
        "edit_file",
        "Replace text in a file. The text must be there exactly once, unless all of them are meant.",
        {
            "path": Parameter(_PATH, required=True),
            "old": Parameter("the text as it is, letter by letter", required=True),
            "new": Parameter("what is to be there instead", required=True),
            "all": Parameter("replace it wherever it is", "boolean"),
        },
        changes=True,
    ),
    Tool(
        "list_files",
        "List files and directories, with all that is in them.",
        {"path": Parameter(_PATH), "pattern": Parameter("of names or paths, such as *.py or src/*")},
    ),
    Tool(
        "search",
        "Find the lines of files that a regular expression (of Python) fits.",
        {
            "pattern": Parameter("the regular expression", required=True),
            "path": Parameter(f"a file or directory, {_PATH}"),
            "files": Parameter("of names of files, such as *.py"),
        },
    ),
    Tool(
        DONE,
        "Say that the work is done; it ends here.",
        {"text": Parameter("what was done, in short", required=True)},
    ),
)


def list_tools(*, read_only: bool) -> tuple[Tool, ...]:
    return tuple(tool for tool in TOOLS if not (read_only and tool.changes))


def _finish(text: str) -> str:
    return text


class Toolbox:
    def __init__(
        self, root: str, environ: Mapping[str, str], *, read_only: bool, command_timeout: int
    ) -> None:
        files = Files(root)
        self._root = root
        self._environ = environ
        self._command_timeout = command_timeout
        self._tools = {tool.name: tool for tool in list_tools(read_only=read_only)}
        self._functions: dict[str, Callable[..., str]] = {
            "shell": self._shell,
            "read_file": files.read,
            "write_file": files.write,
            "edit_file": files.edit,
            "list_files": files.list,
            "search": files.search,
            DONE: _finish,
        }

    def use(self, call: ToolCall) -> str:
        """Runs a call and returns its output, or an error message for the model. Never raises."""
        try:
            arguments = self._check_arguments(call)
            output = shorten(self._functions[call.name](**arguments), MOST_OUTPUT) or "[nothing]"
            return output.encode(errors="replace").decode()  # names of files may contain lone surrogates
        except ToolError as error:
            return f"error: {error}"

    def _check_arguments(self, call: ToolCall) -> dict[str, Any]:
        if call.name not in self._tools:
            raise ToolError(f"there is no tool {call.name!r}; the tools are {', '.join(self._tools)}")
        if call.wrong:
            raise ToolError(call.wrong)
        parameters = self._tools[call.name].parameters
        arguments = {name: value for name, value in call.arguments.items() if value is not None}
        for name, value in arguments.items():
            if name not in parameters:
                raise ToolError(f"there is no argument {name!r}; the arguments are {', '.join(parameters)}")
            # `type` instead of `isinstance`: a boolean must not pass as an integer.
            if type(value) is not _KINDS[parameters[name].kind]:
                raise ToolError(f"`{name}` must be of type {parameters[name].kind}")
        missing = [
            name for name, parameter in parameters.items() if parameter.required and name not in arguments
        ]
        if missing:
            raise ToolError(f"the argument `{missing[0]}` is missing")
        return arguments

    def _shell(self, command: str, timeout: int | None = None) -> str:
        # The model may shorten the time, not extend it.
        seconds = min(max(timeout or self._command_timeout, 1), self._command_timeout)
        from weft.agents.builtin import shell  # noqa: PLC0415 - slow to import, and some tasks need no command

        return shell.run(command, root=self._root, environ=self._environ, seconds=seconds)
