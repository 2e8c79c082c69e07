"""The command line of `rcc-node.pyz`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType
from typing import Any, NoReturn

from rcc_node.console import Console
from rcc_node.errors import BUG, USAGE, NodeError
from rcc_node.plan import Plan, read_plan


class _Stopped(BaseException):
    """A signal asked to stop: what was written is noted first."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; its exit status: 0, 1 for what the user can fix, 2 for usage, 3 for a bug."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    parsed = _parser().parse_args(arguments)
    console = Console(parsed.json)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
            signal.signal(number, _stop)
    try:
        return _run(parsed, console)
    except NodeError as error:
        console.error(error)
        explained = {"name": error.name, "message": error.message, "help": error.help}
        console.result(parsed.command, error.status, {"error": explained})
        return error.status
    except _Stopped as stopped:
        console.note("stopped: run again to go on")
        signal.signal(stopped.number, signal.SIG_DFL)
        os.kill(os.getpid(), stopped.number)
        raise
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception:
        import traceback

        traceback.print_exc()
        console.note("this is a bug in rcc-node: report the lines above with the `stage.json` that was used")
        return BUG


def _stop(number: int, _frame: FrameType | None) -> NoReturn:
    raise _Stopped(number)


def _run(parsed: argparse.Namespace, console: Console) -> int:
    status, values = parsed.run(parsed, console)
    console.result(parsed.command, status, values)
    return int(status)


def _plan(parsed: argparse.Namespace) -> Plan:
    try:
        if parsed.plan == "-":
            return read_plan(sys.stdin.buffer.read(), parsed.rank, "standard input")
        with open(parsed.plan, "rb") as file:
            return read_plan(file.read(), parsed.rank, parsed.plan)
    except OSError as error:
        raise NodeError(
            "plan-unreadable", f"`{parsed.plan}`: {error.strerror}", "name the `stage.json`", USAGE
        ) from error


def _stage(parsed: argparse.Namespace, console: Console) -> tuple[int, dict[str, Any]]:
    from rcc_node.job import Options
    from rcc_node.stage import stage

    options = Options(parsed.full, parsed.repair, parsed.adopt, not parsed.no_wait)
    return 0, {"blocks": [result.document() for result in stage(_plan(parsed), options, console)]}


def _verify(parsed: argparse.Namespace, console: Console) -> tuple[int, dict[str, Any]]:
    from rcc_node.staged import verify

    return 0, {"blocks": [result.document() for result in verify(_plan(parsed), parsed.full, console)]}


def _evict(parsed: argparse.Namespace, console: Console) -> tuple[int, dict[str, Any]]:
    from rcc_node.evict import evict

    count = evict(_plan(parsed))
    console.say(f"dropped {count} files from the page cache")
    return 0, {"files": count}


def _preflight(parsed: argparse.Namespace, console: Console) -> tuple[int, dict[str, Any]]:
    from rcc_node.preflight import preflight

    results = preflight(_plan(parsed), set(parsed.skip), set(parsed.own_port), console)
    status = 0 if all(result.ok for result in results) else 1
    return status, {"checks": [result.document() for result in results]}


def _gid(parsed: argparse.Namespace, console: Console) -> tuple[int, dict[str, Any]]:
    from rcc_node.gid import run

    found = run(parsed.hca, parsed.fabric, parsed.sysfs)
    console.say(found)
    return 0, {"gid_index": found}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="rcc-node.pyz", description="stages data on a node and checks the node")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(name: str, run: Any, text: str, needs_plan: bool = True) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(run=run)
        if needs_plan:
            sub.add_argument("--plan", required=True, metavar="FILE", help="the stage.json of this node; - is stdin")
            sub.add_argument("--rank", type=int, metavar="R", help="the rank, where the file is for all ranks")
        sub.add_argument("--json", action="store_true", help="one JSON document on stdout")
        return sub

    sub = command("stage", _stage, "pack what is missing, check what is there")
    sub.add_argument("--full", action="store_true", help="check every byte of what is there")
    sub.add_argument("--repair", action="store_true", help="check every byte and pack again what is wrong")
    sub.add_argument("--adopt", action="store_true", help="take over another tool's copy, compared with the source")
    sub.add_argument("--no-wait", action="store_true", help="fail where another process packs")
    sub = command("verify", _verify, "check what is staged, change nothing")
    sub.add_argument("--full", action="store_true", help="check every byte")
    sub = command("preflight", _preflight, "check what must be true before the engine starts")
    sub.add_argument("--skip", action="append", default=[], metavar="CHECK", help="leave a check out")
    sub.add_argument("--own-port", action="append", default=[], type=int, metavar="PORT", help="counts as free")
    command("evict", _evict, "drop snapshot and staged data from the page cache")
    sub = command("gid", _gid, "find the RoCE v2 GID index", needs_plan=False)
    sub.add_argument("--hca", required=True, help="the list in NCCL_IB_HCA")
    sub.add_argument("--fabric", required=True, help="this node's fabric address")
    sub.add_argument("--sysfs", default="/sys", help=argparse.SUPPRESS)
    return parser
