"""Inserts values into a command for /bin/sh: each reaches the program unchanged, whatever it contains.

Outside quotes, a value is quoted. Within quotes, these are closed before it and opened again behind it, so that
`"a {{ x }} b"` is one argument, as it looks. To know which it is, the template's own text is read as the shell
reads it: the open constructs form a stack, and for each kind of construct a regular expression finds what can
open or close something in it. In some places no quoting helps, as in a comment, which a line break in the value
would end; in others it is uncertain what a shell would make of it, as after `<<`. Values there are refused: an
error is better than running text that someone else wrote.

The quotes hold in this shell only. In a word that another program reads as code (`sh -c "echo {{ x }}"`, `eval`),
a value is refused as well, unless it has only letters, digits and characters without meaning there.
"""

import re
import shlex
from collections.abc import Iterable
from itertools import groupby

from weft.plan.templates.command_words import CommandWords
from weft.plan.templates.interpreters import code_reader
from weft.plan.templates.values import Put, RenderError

# Open constructs, each named by the characters that open it.
_NOTHING = ""
_UNQUOTED = frozenset({_NOTHING, "(", "$("})
_NO_PLACE = {
    "#": "in a comment",
    "`": "between backticks",
    "${": "within ${…}",
    "((": "within $((…))",
    # The reader does not follow the text behind these.
    "<<": "after <<",
    "$'": "after $'",
    "${'": "after quotes within ${…}",
    "case": "after a case within $(…)",
}

_IN_COMMANDS = re.compile(r"\\.?|\$\(\(|\$[({']|<<|['\"`()]|(?<![^\s;&|()])#|\bcase\b", re.DOTALL)
_SIGNS = {
    **dict.fromkeys(_UNQUOTED, _IN_COMMANDS),
    "'": re.compile("'"),
    '"': re.compile(r"\\.?|\$\(\(|\$[({]|[\"`]", re.DOTALL),
    "`": re.compile(r"\\.?|`", re.DOTALL),
    "#": re.compile("\n"),
    "${": re.compile(r"[}'\"`$\\]"),
    "((": re.compile("[()]"),
}
_COMMANDS_WITHIN = frozenset({"(", "$("})
_HARMLESS = re.compile(r"[A-Za-z0-9_./-]*")
HARMLESS_VALUE, ANY_VALUE = "x", "x y"
"""Stand-ins to check a command before its values are known."""
_ENDS = {"'": "'", '"': '"', "`": "`", "#": "\n", "${": "}", "((": ")", "(": ")", "$(": ")"}


def shell_text(pieces: Iterable[str]) -> str:
    """Returns the command, with each `Put` among its pieces quoted."""
    reader = _ShellReader()
    parts: list[str] = []
    for is_value, group in groupby(pieces, lambda piece: isinstance(piece, Put)):
        if is_value:
            parts += map(reader.quote_in_shell, group)
        else:
            parts.append(reader.read("".join(group)))
    return "".join(parts)


class _ShellReader:
    """Reads a command as the shell does, and quotes the values in it."""

    def __init__(self) -> None:
        self.open = [_NOTHING]
        self.within_word = False
        """Whether a value comes right before the next text."""
        self.dangling = False
        """Whether the last character would take the first character of a value for itself."""
        self.words = CommandWords()

    def quote_in_shell(self, value: str) -> str:
        if "\0" in value:
            raise RenderError("a value contains a NUL character, which a command cannot receive")
        if self.dangling:
            raise RenderError(
                "in a command, a value cannot come right after a \\ or $: its quotes would not hold"
            )
        self.within_word = True
        place = self.open[-1]
        # Quoting protects a value from this shell, not from a program that runs its argument.
        self.check_code(value)
        self.words.add(value, quoted=True)
        if place in _NO_PLACE:
            message = f"in a command, a value cannot be {_NO_PLACE[place]}: no quotes protect it there"
            raise RenderError(
                f'{message}; pass it in an environment variable, with env, and read it as "$NAME"'
            )
        # Inside quotes the value gets quotes of its own, between a closing and an opening quote.
        quotes = "" if place in _UNQUOTED else place
        return quotes + shlex.quote(value) + quotes

    def check_code(self, value: str) -> None:
        program = code_reader(self.words.words)
        if program is not None and not _HARMLESS.fullmatch(value):
            raise RenderError(code_refusal(program))

    def read(self, text: str) -> str:
        position, sign = 0, ""
        while match := self.next_sign(text, position):
            self.words.add(text[position : match.start()], quoted=self.open[-1] not in _UNQUOTED)
            position, sign = match.end(), match[0]
            # Right behind a value, # does not start a comment.
            if not (sign == "#" and match.start() == 0 and self.within_word):
                self.sign(sign)
        rest = text[position:]
        self.words.add(rest, quoted=self.open[-1] not in _UNQUOTED)
        # A backslash or dollar sign would change the meaning of the quote behind it.
        self.dangling = rest.endswith("$") and self.open[-1] in _UNQUOTED if rest else sign == "\\"
        self.within_word = False
        return text

    def next_sign(self, text: str, position: int) -> re.Match[str] | None:
        place = self.open[-1]
        return _SIGNS[place].search(text, position) if place in _SIGNS else None

    def sign(self, sign: str) -> None:
        """Handles a character that opens or closes something."""
        place = self.open[-1]
        self.change(sign, place)
        if place in _COMMANDS_WITHIN and sign == ")":
            self.words.leave()
        elif self.open[-1] in _COMMANDS_WITHIN and self.open[-1] == sign:
            self.words.enter()
        elif sign != "\\\n":
            self.words.add("" if sign in {"'", '"'} else sign.removeprefix("\\"), quoted=True)

    def change(self, sign: str, place: str) -> None:
        """Pushes or pops the construct that the sign opens or closes."""
        if sign == _ENDS.get(place):
            self.open.pop()
        elif place == "${":  # shells disagree on what quotes mean there
            self.open.append("${'")
        elif sign == "$((":
            # `$((` needs two closing parentheses.
            self.open += ["((", "(("]
        elif place == "((":
            self.open.append("((")
        elif sign == "case":
            # The `)` of a case pattern would look like the end of `$(`. Outside of that, a case does no harm.
            self.open += ["case"] * ("$(" in self.open)
        elif not sign.startswith("\\") and sign != ")":
            self.open.append(sign)


def code_refusal(program: str) -> str:
    """Returns what is wrong with a value in an argument that the program reads as code."""
    refused = f"{program} reads this text as code and would run what is in the value; pass the value "
    if program == "ssh":  # it joins its arguments and does not pass the environment on
        return f"{refused}on standard input, as in printf %s {{{{ … }}}} | ssh HOST COMMAND"
    variable = 'in an environment variable, with env, and read it as "$NAME"'
    if program in {"eval", "trap"}:
        return refused + variable
    return f"{refused}as an argument after the code, as in sh -c 'echo \"$1\"' sh {{{{ … }}}}, or {variable}"
