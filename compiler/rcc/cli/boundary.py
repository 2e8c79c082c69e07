"""Where every call of rcc begins and ends: streams, exit codes, and what becomes of a bug."""

from __future__ import annotations

import io
import os
import sys

import click

from rcc.cli.group import command_line

INTERRUPTED = 130
BUG = 3


def main() -> None:
    """Runs the command line and exits: 0, 1 for what the user can mend, 2 for usage, 3 for a bug in rcc."""
    _same_bytes_everywhere()
    sys.exit(_run())


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
    except BrokenPipeError:
        # Who read the output has left. Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        return _tell_of_disk(error)
    except Exception as error:  # a bug: there is nothing left to do but tell
        return _tell_of_bug(error)


def _tell_of_disk(error: OSError) -> int:
    """A file that the passes did not see: a result's own, or what an option names."""
    from rcc.cli.outcome import tell, unreadable

    return tell([unreadable(error)])


def _tell_of_bug(error: Exception) -> int:
    from rcc.cli.bug import report

    click.echo(report(error), err=True, nl=False)
    return BUG
