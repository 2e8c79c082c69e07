"""Where every call of rcc begins and ends: streams, exit codes, and what becomes of a bug."""

from __future__ import annotations

import io
import os
import sys

import click

from rcc.cli.group import command_line
from rcc.cli.outcome import INTERRUPTED

BUG = 3
UNTOLD = 2


def main() -> None:
    """Runs the command line and exits: 0, 1 for what the user can mend, 2 for usage, 3 for a bug in rcc."""
    _open_streams()
    _same_bytes_everywhere()
    try:
        code = _run()
        sys.stdout.flush()
    except OSError:  # a stream takes nothing any more
        _silence()
        code = UNTOLD
    sys.exit(code)


def _open_streams() -> None:
    """A stream that the caller has closed swallows what it is given, and no other file gets its number."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r+"))  # noqa: SIM115 - until the end


def _silence() -> None:
    """Python would complain again when it flushes at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        os.dup2(nowhere, stream.fileno())


def _same_bytes_everywhere() -> None:
    """Output is UTF-8 with plain newlines, whatever the locale; what UTF-8 cannot say is escaped."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")


def _run() -> int:
    try:
        code = command_line.main(prog_name="rcc", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except BrokenPipeError:  # who read the output has left
        _silence()
        return 1
    except OSError as error:
        return _tell_of_disk(error)
    except Exception as error:  # a bug: there is nothing left to do but tell
        return _tell_of_bug(error)


def _tell_of_disk(error: OSError) -> int:
    """A file that the passes did not see: a result's own, what an option names, or stdout."""
    from rcc.cli.outcome import tell, unreadable, unwritten

    return tell([unreadable(error) if error.filename is not None or _takes_output() else unwritten(error)])


def _takes_output() -> bool:
    """Whether stdout takes what it has been given; what it has not taken, it keeps and refuses again."""
    try:
        sys.stdout.flush()
    except OSError:
        return False
    return True


def _tell_of_bug(error: Exception) -> int:
    from rcc.cli.bug import report

    click.echo(report(error), err=True, nl=False)
    return BUG
