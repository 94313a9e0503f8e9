"""The kinds of values that several keys share: ids, paths, templates, commands."""

from weft.plan.language.kinds import Glob, Text, Word
from weft.plan.language.kinds_of_many import Either, ListOf, MapOf, Single

ID_PATTERN = "[a-z0-9][a-z0-9_-]{0,63}"
ID = Text(
    "an id: up to 64 lowercase letters, digits, - or _, starting with a letter or digit", pattern=ID_PATTERN
)
SOME_TEXT = Text()
TEMPLATE = Text("text, in which {{ … }} is replaced", template=True)
PLACE = Text("a path that contains {{ slice.path }}", template=True)
EXPRESSION = Text("an expression with the names of templates, always or never", template=True)
PATH = Text(
    "the id of a sibling, or a path from the root such as /store/model",
    pattern=rf"/?{ID_PATTERN}(?:/{ID_PATTERN})*",
)
GLOB = Glob()
FOLDER = Text(
    "a directory of the repository, relative to its top, such as src/app",
    pattern=r"(?!/)(?!(?:.*/)?\.\.(?:/|$))[^\x00\n]+",
)
BRANCH = Text(
    "the name of a branch, without spaces and without a leading -",
    pattern=r"(?!-)[^\x00-\x20\x7f]+",  # git would read a leading - as an option
)
NAME = Text("the name of an environment variable", pattern="[A-Za-z_][A-Za-z0-9_]*")
_ONE_COMMAND = "a command for /bin/sh, or a list of arguments"
COMMAND = Either(
    scalar=Text("a command for /bin/sh", template=True),
    items=ListOf(Text("an argument", empty=True, template=True), least=1),
    description=_ONE_COMMAND,
)
PLAIN_COMMAND = Either(
    scalar=Text("a command for /bin/sh"),
    items=ListOf(Text("an argument", empty=True), least=1),
    description=_ONE_COMMAND,
)
COMMANDS = Either(
    scalar=Single(Text("a command for /bin/sh")),
    items=ListOf(PLAIN_COMMAND, least=1),
    description="a command for /bin/sh, or a list of commands, each text or a list of arguments",
)
ENVIRONMENT = MapOf(NAME, Word(template=True))
