"""Values in a command for /bin/sh: each arrives as it is, whatever is in it.

Where the command has no quotes, a value is quoted; within quotes, these are closed before it and opened again
behind it, so that `"a {{ x }} b"` is one argument, as it looks. To know which it is, the template's own text
is read as the shell reads it: what is open is a stack, and for each kind of thing on it there is a regular
expression of what can open or close something there. In some places no quoting helps, as in a comment, which
a line break in the value would end; in some it is not certain what a shell would make of it, as after `<<`.
Those are refused: it is better to be told than to run what somebody else wrote.

The quotes hold in this shell only. In a word that another program reads as code (`sh -c "echo {{ x }}"`, `eval`),
a value is refused as well, unless it has only letters, digits and signs that mean nothing there.
"""

import re
import shlex
from collections.abc import Iterable
from itertools import groupby

from weft.plan.templates.command_words import CommandWords
from weft.plan.templates.interpreters import code_reader
from weft.plan.templates.values import Put, RenderError

# What is open, each by the sign that opens it.
_NOTHING = ""
_UNQUOTED = frozenset({_NOTHING, "(", "$("})
_NO_PLACE = {
    "#": "in a comment",
    "`": "between backticks",
    "${": "within ${…}",
    "((": "within $((…))",
    # Behind these, the text is not read any further.
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
"""Values to check a command with, before the real ones are known."""
_ENDS = {"'": "'", '"': '"', "`": "`", "#": "\n", "${": "}", "((": ")", "(": ")", "$(": ")"}


def shell_text(pieces: Iterable[str]) -> str:
    """The command, with each `Put` among its pieces quoted."""
    reader = _Reader()
    done: list[str] = []
    for is_value, several in groupby(pieces, lambda piece: isinstance(piece, Put)):
        if is_value:
            done += map(reader.quoted, several)
        else:
            done.append(reader.read("".join(several)))
    return "".join(done)


class _Reader:
    def __init__(self) -> None:
        self.open = [_NOTHING]
        self.within_word = False
        """Whether a value stands right before."""
        self.dangling = False
        """Whether the last sign would take the first one of a value for itself."""
        self.words = CommandWords()

    def quoted(self, value: str) -> str:
        if "\0" in value:
            raise RenderError("a value has a NUL character in it, which no command can be given")
        if self.dangling:
            raise RenderError(
                "in a command, a value cannot stand right behind a \\ or $: its quotes would not hold"
            )
        self.within_word = True
        place = self.open[-1]
        self.check_code(value)
        self.words.add(value, quoted=True)
        if place in _NO_PLACE:
            said = f"in a command, a value cannot stand {_NO_PLACE[place]}: no quotes would hold it together there"
            raise RenderError(
                f'{said}; hand it over in an environment variable, by env, and read it as "$NAME"'
            )
        quotes = "" if place in _UNQUOTED else place
        return quotes + shlex.quote(value) + quotes

    def check_code(self, value: str) -> None:
        program = code_reader(self.words.words)
        if program is not None and not _HARMLESS.fullmatch(value):
            raise RenderError(code_refusal(program))

    def read(self, text: str) -> str:
        at, sign = 0, ""
        while found := self.next_sign(text, at):
            self.words.add(text[at : found.start()], quoted=self.open[-1] not in _UNQUOTED)
            at, sign = found.end(), found[0]
            # Right behind a value, # begins no comment.
            if not (sign == "#" and found.start() == 0 and self.within_word):
                self.sign(sign)
        rest = text[at:]
        self.words.add(rest, quoted=self.open[-1] not in _UNQUOTED)
        self.dangling = rest.endswith("$") and self.open[-1] in _UNQUOTED if rest else sign == "\\"
        self.within_word = False
        return text

    def next_sign(self, text: str, at: int) -> re.Match[str] | None:
        place = self.open[-1]
        return _SIGNS[place].search(text, at) if place in _SIGNS else None

    def sign(self, sign: str) -> None:
        place = self.open[-1]
        self.change(sign, place)
        if place in _COMMANDS_WITHIN and sign == ")":
            self.words.leave()
        elif self.open[-1] in _COMMANDS_WITHIN and self.open[-1] == sign:
            self.words.enter()
        elif sign != "\\\n":
            self.words.add("" if sign in {"'", '"'} else sign.removeprefix("\\"), quoted=True)

    def change(self, sign: str, place: str) -> None:
        """Opens or closes what the sign does."""
        if sign == _ENDS.get(place):
            self.open.pop()
        elif place == "${":  # what quotes mean there, shells do not agree on
            self.open.append("${'")
        elif sign == "$((":
            self.open += ["((", "(("]
        elif place == "((":
            self.open.append("((")
        elif sign == "case":
            self.open += ["case"] * ("$(" in self.open)
        elif not sign.startswith("\\") and sign != ")":
            self.open.append(sign)


def code_refusal(program: str) -> str:
    """What is wrong with a value in an argument that the program reads as code."""
    refused = f"{program} reads this text as code, and would run what is in the value; hand the value over "
    if program == "ssh":  # it joins its arguments, and passes no environment on
        return f"{refused}on standard input, as in printf %s {{{{ … }}}} | ssh HOST COMMAND"
    variable = 'in an environment variable, by env, and read it as "$NAME"'
    if program in {"eval", "trap"}:
        return refused + variable
    return f"{refused}as an argument after the code, as in sh -c 'echo \"$1\"' sh {{{{ … }}}}, or {variable}"
