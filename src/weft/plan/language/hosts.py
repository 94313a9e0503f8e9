"""The keys of plans and configurations about hosts: the machines on which steps run, and how to reach them."""

from msgspec import Struct

from weft.plan.language.kinds import Choice, Duration, Integer, Text
from weft.plan.language.kinds_of_many import Either, JsonObject, ListOf, MapOf
from weft.plan.language.reader import Reader, Schema
from weft.plan.language.records import AnyOf, Condition, Has, Is, Key, Needs, OnlyWith, Record, Words
from weft.plan.language.values import ID
from weft.plan.text.document import Table

CARRIERS = ("ssh", "command", "dask")
"""The values of `use` that reach other machines."""
_FAR = AnyOf(tuple(Is("use", carrier) for carrier in CARRIERS))

# A leading - would be read as an option by the program that gets the text.
_MACHINE = Text("a machine as ssh knows it, such as big3 or me@10.0.0.5", pattern=r"(?!-)[^\x00-\x20\x7f]+")
_PROGRAM = Text("a program, such as python3.12", pattern=r"(?!-)[^\x00-\x20\x7f]+")
_FILE = Text("a path that is absolute, or in your home as ~/certs/ca.pem", pattern=r"(?:/|~/)[^\x00\n]*")
_WORDS = Either(
    scalar=Text("words without quotes", pattern=r"[^'\"\\\x00\n]*[^'\"\\\x00\s][^'\"\\\x00\n]*"),
    items=ListOf(Text("an argument"), least=1),
    description="the words of a command, as text without quotes or as a list",
)
_REPOSITORY = Text(
    "a URL without a password, such as https://example.org/repository.git, git@example.org:repository.git or "
    "/srv/repository.git",
    # `ext::` and the like would run programs; a password would stand in every journal.
    pattern=r"(?:(?:https?|ssh|git|file)://(?![^/@]*:[^/@]*@)|[A-Za-z0-9_][\w.-]*@[A-Za-z0-9_][\w.-]*:(?!:)|/)[!-~]+",
)


class NeedsOneOf(Struct, frozen=True):
    """If the condition holds, exactly one of the keys must be present."""

    condition: Condition
    keys: tuple[str, ...]

    @property
    def sentence(self) -> str:
        names = [f"`{key}`" for key in self.keys]
        return f"{self.condition} needs exactly one of {', '.join(names[:-1])} and {names[-1]}."

    def check(self, table: Table, reader: Reader, name: str) -> None:
        if not self.condition.holds(table):
            return
        present = [key for key in self.keys if key in table.entries]
        if not present:
            condition = str(self.condition).replace("`", "'")
            reader.wrong(table, f"{name} with {condition} needs exactly one of: {', '.join(self.keys)}")
        for extra in present[1:]:
            reader.wrong(table.key(extra), f"{name} cannot have both {present[0]!r} and {extra!r}")

    def schema(self) -> Schema:
        alternatives = [{"required": [key]} for key in self.keys]
        return {"if": self.condition.schema(), "then": {"oneOf": alternatives}}


TLS = Record(
    "tls",
    "The files with which a scheduler of Dask and Weft prove to each other who they are.",
    (
        Key(name="ca", kind=_FILE, required=True, doc="The certificate of the authority."),
        Key(name="cert", kind=_FILE, required=True, doc="The certificate of Weft."),
        Key(name="key", kind=_FILE, required=True, doc="Its private key."),
    ),
)  # fmt: skip

HOST = Record(
    "a host",
    "A machine, or the machines of a cluster, on which steps run. The entry `local` is the machine on which Weft "
    "runs; every other entry needs `use`. Passwords and keys are no part of an entry; `ssh` and Dask have theirs.",
    (
        Key(name="use", kind=Choice(("local", *CARRIERS)), default="local",
            doc="How to reach it: `local` is this machine, `ssh` and `command` reach another one, and `dask` "
                "those of a cluster."),
        Key(name="slots", kind=Integer(1), default=Words("4 for each machine; for `local` no limit of its own"),
            doc="The most steps that run there at once."),
        Key(name="labels", kind=ListOf(ID), default="[]", doc="What it is or has, for `host: {labels: …}`.",
            example="[gpu]"),
        Key(name="machine", kind=_MACHINE, doc="The machine, as the system's `ssh` knows it."),
        Key(name="command", kind=_WORDS, doc="What runs a shell command there.", example="docker exec -i box"),
        Key(name="address", kind=Text("the address of a scheduler, such as tls://scheduler:8786",
                                      pattern=r"[a-z]+://[!-~]+"),
            doc="The scheduler of a Dask cluster that exists."),
        Key(name="ssh", kind=ListOf(_MACHINE, least=1),
            doc="The machines on which Weft starts a Dask cluster, as `ssh` knows them."),
        Key(name="cluster", kind=Text("a class, such as dask_jobqueue.SLURMCluster",
                                      pattern=r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+"),
            doc="The class of a Dask cluster that Weft starts."),
        Key(name="scale", kind=Integer(1), default="1", doc="How many workers that cluster is asked for."),
        Key(name="options", kind=JsonObject(), default="{}", doc="Keyword arguments of that class.",
            example="{cores: 4, memory: 16GB}"),
        Key(name="tls", kind=TLS, doc=TLS.doc),
        Key(name="lost_after", kind=Duration(), default="10m",
            doc="How long it may be out of reach before its running steps count as lost and run elsewhere."),
        Key(name="directory", kind=_FILE, default="~/.cache/weft",
            doc="Where workspaces are made there, with the program that Weft copies there."),
        Key(name="python", kind=_PROGRAM,
            default="python3", doc="The interpreter there, 3.11 or later."),
        Key(name="fetch", kind=_REPOSITORY, default=Words("nothing; all commits travel over the carrier"),
            doc="From where it fetches the repository, so that only new commits travel over the carrier."),
    ),
    (
        Needs(Is("use", "ssh"), "machine"),
        OnlyWith(("machine",), Is("use", "ssh")),
        Needs(Is("use", "command"), "command"),
        OnlyWith(("command",), Is("use", "command")),
        NeedsOneOf(Is("use", "dask"), ("address", "ssh", "cluster")),
        OnlyWith(("address", "ssh", "cluster", "tls"), Is("use", "dask")),
        OnlyWith(("scale", "options"), Has("cluster")),
        OnlyWith(("lost_after", "directory", "python", "fetch"), _FAR),
    ),
)  # fmt: skip

HOSTS_KEY = Key(
    name="hosts", kind=MapOf(ID, HOST), default="{}",
    doc="The machines on which steps may run, besides this one. Those of the plan come before the project's, and "
        "these before the user's.",
    example="{near: {use: ssh, machine: big3, slots: 6}}",
)  # fmt: skip

HOST_LABELS = Record(
    "labels",
    "Hosts by what they are or have, and not by name.",
    (Key(name="labels", kind=ListOf(ID, least=1), required=True, doc="A host needs all of them."),),
)
_HOST_CHOICE = Either(
    scalar=ID,
    items=ListOf(ID, least=1),
    table=HOST_LABELS,
    description="the name of a host, a list of names, or a mapping with the key labels",
)
HOST_KEY = Key(
    name="host", kind=_HOST_CHOICE, default="local", example="{labels: [gpu]}",
    doc="Where a slice works: on a host with one of these names, or with all of these labels. Of several hosts, a "
        "slice starts on the one with the fewest slices for its slots, and stays there.",
)  # fmt: skip
STEP_HOST_KEY = Key(
    name="host", kind=_HOST_CHOICE, default=Words("the setting `host`"),
    doc="Where its process runs, if not where the slice works: on the host of the slice if that is allowed here, "
        "else on the first that is.",
)  # fmt: skip
