"""The blocks of code of the pages: their commands, and what they show."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2
import pytest

from semblance.service.cli.main import IndexVerbs, KeyVerbs, LazyGroup, OriginVerbs, PairsVerbs, SemblanceVerbs
from tests.support.running_service import wait_for_url

GROUPS: Mapping[str, type[LazyGroup]] = {
    "index": IndexVerbs,
    "key": KeyVerbs,
    "origin": OriginVerbs,
    "pairs": PairsVerbs,
}
NO_COMMANDS = (  # how blocks begin that show a file, an output or a picture
    " text ─",
    "services:",
    "scrape_configs:",
    "SEMBLANCE_API_KEYS=ops:read+write+admin:...\nSEMBLANCE_DATABASE_URL",
)


@dataclass(frozen=True)
class Block:
    """A block of code, and the JSON or text that follows as its output."""

    language: str
    code: str
    shown: str


def blocks(page: Path) -> Iterator[Block]:
    pattern = r"^```(\w*)\n(.*?)^```(?:\n\n```(?:json|text)\n(.*?)^```)?"
    for found in re.findall(pattern, page.read_text("utf-8"), re.MULTILINE | re.DOTALL):
        yield Block(*found)


def commands(page: Path) -> Iterator[str]:
    for block in blocks(page):
        if block.language == "console":
            yield from re.findall(r"^\$ (.*)", block.code, re.MULTILINE)
        elif block.language in ("", "bash") and not block.code.startswith(NO_COMMANDS):
            yield from commands_of(block.code)


def settings_before(command: str) -> dict[str, str]:
    """The variables set before a command, for it only; digests that are cut short are filled up."""
    return dict(re.findall(r"([A-Z_]+)=(\S*) ", _settings(command).replace("...", "0" * 58)))


def program(command: str) -> str:
    """What the shell starts first."""
    return command.removeprefix(_settings(command)).split()[0]


def inner_semblance(command: str) -> str | None:
    """The command of semblance, also inside of another program's, such as `docker compose exec` or `torchrun`."""
    verbs = "|".join((*modules_of(SemblanceVerbs), *GROUPS))
    line = " ".join(command.replace("\\\n", " ").split())
    match = re.search(rf"(?:^|[\s/])semblance(?::\w+)? ((?:{verbs})\b.*)", line)
    return f"semblance {match[1]}" if match else None


def verb_of(words: list[str]) -> tuple[str, str]:
    """Module and name of the verb of a command of semblance. Raises KeyError if there is none."""
    if words[0] not in GROUPS:
        return modules_of(SemblanceVerbs)[words[0]], words[0]
    modules = modules_of(GROUPS[words[0]])
    name = words[1] if len(words) > 1 and words[1] in modules else "add"
    return modules[name], name


def modules_of(group: type[LazyGroup]) -> dict[str, str]:
    """The module of each verb of a group."""
    own = {name: f"semblance.service.cli.{module}" for name, (module, _) in group.verbs.items()}
    return own | {name: f"semblance_lab.cli.{module}" for name, (module, _) in group.lab_verbs.items()}


def _settings(command: str) -> str:
    match = re.match(r"(?:[A-Z_]+=\S* (?=\S))*", command)
    assert match is not None
    return match[0]


def commands_of(block: str) -> Iterator[str]:
    """Commands of a block of shell: a quote, a backslash, a here document or a loop continues on the next line."""
    open_lines: list[str] = []
    for line in block.splitlines():
        open_lines.append(line if open_lines else re.sub(r"(^|\s+)# .*", "", line))
        text = "\n".join(open_lines)
        here = re.search(r"<<(\w+)", text)
        loop = text.startswith("for ") and not text.endswith("\ndone")
        if text.endswith("\\") or loop or (here and not text.endswith(f"\n{here[1]}")) or not _balanced(text):
            continue
        yield from filter(None, [text])
        open_lines = []
    assert not open_lines, f"a command does not end: {open_lines}"


def _balanced(text: str) -> bool:
    try:
        shlex.split(text)
    except ValueError:
        return False
    return True


def json_lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def assert_shown(shown: Any, answer: Any) -> None:
    """The example leaves fields out; what it does show is there, numbers to the digits shown."""
    match shown:
        case dict():
            for key, value in shown.items():
                assert_shown(value, answer[key])
        case list():
            assert len(shown) == len(answer)
            for one, other in zip(shown, answer, strict=True):
                assert_shown(one, other)
        case float():
            assert answer == pytest.approx(shown, abs=0.6 * 10 ** -len(str(shown).partition(".")[2]))
        case _:
            assert shown == answer


@contextmanager
def serving(command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """Run a command that serves, and return its address; at the end, SIGTERM must stop it with status 0."""
    with TemporaryDirectory() as logs:
        log = Path(logs) / "log"
        with log.open("wb") as errors:
            process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=errors)
        with process:
            try:
                yield wait_for_url(process, log)
            finally:
                process.terminate()
        assert process.returncode == 0, log.read_text()


def score_by_each(url: str) -> list[str]:
    """Score a pair by each model of a service, and return the names of all."""
    with httpx2.Client(base_url=url, timeout=120) as http:
        names = [each["name"] for each in http.get("/models").json()["models"] if each["kind"] == "encoder"]
        for name in names:
            body = {"pairs": [{"a": "a cat sleeps", "b": "the old cat"}], "model": name}
            assert http.post("/similarity", json=body).status_code == 200
    return names
