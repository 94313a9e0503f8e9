"""The clusters that the carrier `dask` connects to: one that exists, or one that Weft starts for a run.

Any program that connects to a scheduler of Dask can run code on all its machines. So a connection that leaves
this machine is encrypted and authenticated, or refused. A cluster that Weft starts over ssh gets a key of its own,
which is sent over ssh, readable for the user alone, and removed with the cluster. Dask's pages are not served.
"""

import asyncio
import ipaddress
import os
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, cast
from urllib.parse import urlsplit

from weft.plan.hosts import HostSpec
from weft.ports.machines import FarError, UnreachableError
from weft.threads import run_sync

_ENCRYPTED = ("tls", "wss")
_PATIENCE = 30.0
"""Seconds to connect to a scheduler."""
_START_PATIENCE = 300.0
"""Seconds for a cluster to start; a batch system may take its time."""
_ROLES = ("scheduler", "worker", "client")
DaskClient = Any
"""`distributed.Client`, which has no types."""


class ClusterConnection:
    """A client of a cluster, with what must be closed after it."""

    def __init__(self, client: DaskClient, close: Callable[[], Awaitable[None]]) -> None:
        self.client = client
        self._close = close

    async def close(self) -> None:
        with suppress(Exception):  # Dask raises many kinds, and all of this goes away anyway
            async with asyncio.timeout(_PATIENCE):
                await self.client.close()
        await self._close()


async def connect(spec: HostSpec) -> ClusterConnection:
    """Connects to the cluster of a host, or starts it. Raises `UnreachableError` or `FarError`."""
    await run_sync(_require_dask, spec)  # importing it takes a second, in which the run must not stand still
    if spec.address is not None:
        return await _connect_to(spec, spec.address)
    start = _start_over_ssh if spec.ssh else _start_class
    cluster, finish = await _explained(spec, start(spec), _START_PATIENCE)
    client = await _explained(spec, _client(cluster, cluster.security), _PATIENCE)
    return ClusterConnection(client, finish)


def _require_dask(spec: HostSpec) -> None:
    try:
        import_module("distributed")
    except ImportError:
        raise FarError(
            f"the host {spec.name} needs Dask, which is not installed; type: pip install 'weft[dask]'"
        ) from None
    import logging  # noqa: PLC0415 - Dask has loaded it by now

    # Dask writes about every lost connection to the terminal. Weft shows the states of machines itself.
    for name in ("distributed", "asyncssh"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


# An existing cluster


async def _connect_to(spec: HostSpec, address: str) -> ClusterConnection:
    security = security_of(spec)
    _require_encryption(spec, address)
    client = await _explained(spec, _client(address, security), _PATIENCE)
    return ClusterConnection(client, _nothing)


def security_of(spec: HostSpec) -> Any:  # noqa: ANN401 - a class of Dask
    """Returns the files of keys and certificates for Dask; None for a connection without."""
    if not spec.tls:
        return None
    files = {key: os.path.expanduser(path) for key, path in spec.tls.items()}  # noqa: PTH111 - a text, as all here
    for path in files.values():
        if not os.access(path, os.R_OK):
            raise FarError(f"cannot read {path}, which hosts.{spec.name}.tls names")
    return _dask("distributed.security").Security(
        require_encryption=True,
        tls_ca_file=files["ca"],
        tls_client_cert=files["cert"],
        tls_client_key=files["key"],
    )


def _require_encryption(spec: HostSpec, address: str) -> None:
    parts = urlsplit(address if "://" in address else f"tcp://{address}")
    if parts.scheme in _ENCRYPTED:
        if not spec.tls:
            raise FarError(
                f"{address} needs a key and certificates: set hosts.{spec.name}.tls to {{ca: …, cert: …, key: …}}"
            )
    elif not is_loopback(parts.hostname or ""):
        raise FarError(
            f"{address} is not encrypted, so anyone on the way could run commands on its machines; start the "
            f"scheduler with TLS, and set hosts.{spec.name}.address to tls://… and hosts.{spec.name}.tls"
        )


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


async def _client(cluster: object, security: object) -> DaskClient:
    return await _dask("distributed").Client(
        cluster, security=security, asynchronous=True, set_as_default=False, timeout=_PATIENCE
    )


async def _nothing() -> None:
    """There is nothing to close."""


async def _explained(spec: HostSpec, work: Awaitable[Any], seconds: float) -> Any:  # noqa: ANN401 - of Dask
    """Raises `UnreachableError` or `FarError` in place of the many errors of Dask."""
    where = spec.address or spec.cluster or ", ".join(spec.ssh)
    try:
        async with asyncio.timeout(seconds):
            return await work
    except (FarError, UnreachableError):
        raise
    except TimeoutError:
        raise UnreachableError(f"the Dask cluster {where} has not answered within {seconds:.0f} s") from None
    except OSError as error:
        raise UnreachableError(f"cannot connect to the Dask cluster {where}: {_reason(error)}") from None
    except Exception as error:  # a cluster class may raise anything
        raise FarError(f"the Dask cluster {where} cannot be used: {_reason(error)}") from error


def _reason(error: BaseException) -> str:
    text = str(error) or type(error).__name__
    return text.strip().splitlines()[-1]


def _dask(module: str) -> Any:  # noqa: ANN401 - without types
    """Returns a module of Dask or of what comes with it, which are slow to load and have no types."""
    return import_module(module)


# A cluster that Weft starts

Started = tuple[Any, Callable[[], Awaitable[None]]]
"""A cluster, and what ends it."""


async def _start_class(spec: HostSpec) -> Started:
    """Starts a cluster of any class, such as `dask_jobqueue.SLURMCluster`."""
    assert spec.cluster is not None
    module, _, name = spec.cluster.rpartition(".")
    try:
        factory = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise FarError(
            f"there is no class {spec.cluster} here: {error}; install its package, or correct "
            f"hosts.{spec.name}.cluster"
        ) from None
    cluster = await factory(**{"asynchronous": True, **spec.options})
    if spec.scale is not None:
        cluster.scale(spec.scale)

    async def finish() -> None:
        with suppress(Exception):
            await cluster.close()

    return cluster, finish


async def _start_over_ssh(spec: HostSpec) -> Started:
    options = dict(spec.options)
    connect_options = cast("Mapping[str, Any]", options.pop("connect_options", {}))
    credentials = _dask("distributed.security").Security.temporary()
    folder = f"/tmp/weft-dask-{secrets.token_hex(16)}"  # noqa: S108 - made with mode 0700, and must be new
    pem = f"{credentials.tls_ca_file}\n{credentials.tls_client_key}\n{credentials.tls_client_cert}\n"
    await _on_all(spec.ssh, connect_options, f"umask 077 && mkdir {folder} && cat >{folder}/pem", pem)

    async def finish() -> None:
        with suppress(Exception):
            await cluster.close()
        with suppress(Exception):
            await _on_all(spec.ssh, connect_options, f"rm -rf {folder}", "")

    files = {f"{role}.{part}": f"{folder}/pem" for role in _ROLES for part in ("cert", "key")}
    # Dask hands its configuration to the processes that it starts there. Only names of files are in it.
    with _dask("dask.config").set(
        {
            "distributed.comm.require-encryption": True,
            "distributed.comm.tls.ca-file": f"{folder}/pem",
            **{f"distributed.comm.tls.{name}": path for name, path in files.items()},
        }
    ):
        cluster = _dask("distributed.deploy.ssh").SSHCluster(
            [spec.ssh[0], *spec.ssh],
            connect_options=dict(connect_options),
            worker_options={"nthreads": 1, **cast("Mapping[str, Any]", options.pop("worker_options", {}))},
            scheduler_options={"protocol": "tls", "host": spec.ssh[0], "dashboard": False, "port": 0},
            remote_python=spec.python,
            asynchronous=True,
            security=credentials,
            **options,
        )
        try:
            await cluster
        except BaseException:
            await finish()
            raise
    return cluster, finish


async def _on_all(machines: Sequence[str], options: Mapping[str, Any], command: str, text: str) -> None:
    """Runs a command on each machine once, with this standard input."""
    asyncssh = _dask("asyncssh")
    for machine in dict.fromkeys(machines):
        async with asyncssh.connect(machine, **options) as connection:
            await connection.run(command, input=text, check=True)
