"""`weft ui`: shows the runs of the project in a browser."""

import os
import signal
import sys

import click

from weft.cli.effects import CommandEffect, WeftCommand
from weft.cli.output import examples, note, show_json, show_lines
from weft.cli.plan_options import directory, json_option


@click.command(
    cls=WeftCommand,
    # The page has buttons, so a step must not start it, not even read-only: it would outlive the step.
    effect=CommandEffect.CHANGES,
    epilog=examples(
        "weft ui", "weft ui --port 8000 --no-open", "weft ui --read-only", "weft ui --ssh box:src/app"
    ),
    short_help="Show the runs of this project in a browser.",
)
@click.option("--port", metavar="N", type=click.IntRange(0, 65_535),
              help="The port; default: 7717. If it is in use, the next free one.")  # fmt: skip
@click.option("--host", metavar="HOST", default="127.0.0.1", show_default=True,
              help="The address to listen on. Any but loopback needs WEFT_UI_PASSPHRASE.")  # fmt: skip
@click.option("--read-only", is_flag=True, help="Refuse all requests that change something.")
@click.option("--open/--no-open", "opens", default=True, help="Whether to open a browser.")
@click.option("--ssh", "remote", metavar="HOST[:DIR]",
              help="Start the server on another machine, by ssh, and show it here.")  # fmt: skip
@click.option("--child", is_flag=True, hidden=True)
@click.option("--shown-port", type=click.IntRange(1, 65_535), hidden=True)
@json_option
def ui(  # noqa: PLR0913 - one for each option
    *,
    port: int | None,
    host: str,
    read_only: bool,
    opens: bool,
    remote: str | None,
    child: bool,
    shown_port: int | None,
    as_json: bool,
) -> int:
    """Serve a page with the runs of this project, and open it in a browser.

    The page shows what needs you, all subplans with their logs and changes, and can answer, land, pause, stop and
    retry, as the commands do. It prints its address, with a random token, as one line. Only a browser that has
    opened this address, or a program that sends the token, is let in.

    It reads the journal, and costs a run nothing. Ctrl-C ends it; runs continue.

    Exit code: 0; 2 if it cannot listen there.
    """
    from weft.web.server.pages import MISSING, is_built
    from weft.web.server.serve import ServerAddress, serve, stop_with_input

    if remote is not None:
        from weft.web.server.remote import show_remote

        return show_remote(
            remote,
            lambda url: _announce(url, opens=opens, as_json=as_json),
            port=port,
            read_only=read_only,
        )

    def announce(address: ServerAddress) -> None:
        if address.is_other_port:
            note(f"port {port} is in use; using {address.port}")
        if not is_built():
            note(MISSING)
        _announce(address.url, opens=opens and is_built(), as_json=as_json)

    if child:
        # Not `sys.stdin`: a thread that reads from it keeps the interpreter from ending.
        stop_with_input(lambda: os.kill(os.getpid(), signal.SIGINT), lambda: os.read(0, 4_096))
    try:
        serve(
            directory(),
            announce,
            port=port,
            host=host,
            passphrase=os.environ.get("WEFT_UI_PASSPHRASE", ""),
            read_only=read_only,
            is_exact=child,
            shown_port=shown_port,
        )
    except KeyboardInterrupt:  # the usual end
        note("")
    return 0


def _announce(url: str, *, opens: bool, as_json: bool) -> None:
    """Prints the address, and opens a browser if there is one."""
    if as_json:
        show_json({"url": url})
    else:
        show_lines([url])
    sys.stdout.flush()
    if opens and not _open_browser(url):
        note("no browser was found; open the address above")


def _open_browser(url: str) -> bool:
    import webbrowser

    # A browser in the terminal would take over the screen of the server.
    has_display = bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or sys.platform == "darwin"
    )
    try:
        return has_display and webbrowser.open(url)
    except webbrowser.Error:
        return False
