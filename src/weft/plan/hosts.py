"""Hosts: the machines on which the steps of a plan may run, and where a slice or step may be placed."""

from collections.abc import Mapping

from msgspec import Struct, field

LOCAL = "local"
"""The name of this machine."""


class HostSpec(Struct, frozen=True, kw_only=True):
    """An entry of `hosts`."""

    name: str
    use: str = LOCAL
    """The carrier: `local`, `ssh`, `command` or `dask`."""
    slots: int | None = None
    """The most steps that run there at once; None for this machine without a limit of its own."""
    labels: tuple[str, ...] = ()
    lost_after: float = 600.0
    """Seconds without contact after which its attempts count as lost."""
    machine: str | None = None
    """For `ssh`: the machine, as `ssh` knows it."""
    command: tuple[str, ...] = ()
    """For `command`: what runs a shell command there, such as `docker exec -i box`."""
    address: str | None = None
    """For `dask`: the address of the scheduler."""
    ssh: tuple[str, ...] = ()
    """For `dask`: the machines on which Weft starts a scheduler and workers."""
    cluster: str | None = None
    """For `dask`: the class of a cluster that Weft starts, as `package.Class`."""
    scale: int | None = None
    """The number of workers to ask that cluster for."""
    options: Mapping[str, object] = field(default_factory=dict[str, object])
    """Keyword arguments of that class."""
    tls: Mapping[str, str] = field(default_factory=dict[str, str])
    """For `dask`: the files `ca`, `cert` and `key`."""
    directory: str | None = None
    """Where the far program keeps its files; None for `~/.cache/weft`."""
    python: str = "python3"
    """The interpreter there."""
    fetch: str | None = None
    """A URL from which the machine fetches the repository, so that only new commits travel over the carrier."""

    @property
    def is_local(self) -> bool:
        return self.use == LOCAL


class HostChoice(Struct, frozen=True):
    """Where a slice or step may run: on a host with one of these names, or with all of these labels."""

    names: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The choice as a text, equal for equal choices."""
        return f"labels {','.join(self.labels)}" if self.labels else ",".join(self.names)

    def candidates(self, hosts: Mapping[str, HostSpec]) -> tuple[str, ...]:
        """Returns the names of the hosts that are allowed, in the order in which they are preferred."""
        if self.names:
            return tuple(name for name in self.names if name in hosts or name == LOCAL)
        return tuple(name for name, host in hosts.items() if set(self.labels) <= set(host.labels))
