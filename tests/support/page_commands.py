"""Shell commands in the blocks of code of the pages."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

from semblance.service.cli.main import IndexVerbs, KeyVerbs, LazyGroup, OriginVerbs, PairsVerbs, SemblanceVerbs

GROUPS: Mapping[str, type[LazyGroup]] = {
    "index": IndexVerbs,
    "key": KeyVerbs,
    "origin": OriginVerbs,
    "pairs": PairsVerbs,
}
NO_COMMANDS = (  # how blocks begin that show a file, an output or a picture
    "64 0.755",
    " text ─",
    "services:",
    "scrape_configs:",
    "SEMBLANCE_API_KEYS=ops:read+write+admin:...\nSEMBLANCE_DATABASE_URL",
)


def commands(page: Path) -> Iterator[str]:
    """All commands of a page, as they stand there."""
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL):
        if language == "console":
            yield from re.findall(r"^\$ (.*)", block, re.MULTILINE)
        elif language in ("", "bash") and not block.startswith(NO_COMMANDS):
            yield from _split(block)


def settings_before(command: str) -> dict[str, str]:
    """The variables set before a command, for it only; digests that are cut short are filled up."""
    return dict(re.findall(r"([A-Z_]+)=(\S*) ", _settings(command).replace("...", "0" * 58)))


def program(command: str) -> str:
    """What the shell starts first."""
    return command.removeprefix(_settings(command)).split()[0]


def inner_semblance(command: str) -> str | None:
    """The command of semblance, also inside of another program's, such as `docker compose exec` or `torchrun`."""
    verbs = "|".join((*SemblanceVerbs.verbs, *GROUPS))
    line = " ".join(command.replace("\\\n", " ").split())
    match = re.search(rf"(?:^|[\s/])semblance(?::\w+)? ((?:{verbs})\b.*)", line)
    return f"semblance {match[1]}" if match else None


def verb_of(words: list[str]) -> tuple[str, str]:
    """Module and name of the verb of a command of semblance. Raises KeyError if there is none."""
    if words[0] not in GROUPS:
        return SemblanceVerbs.verbs[words[0]][0], words[0]
    verbs = GROUPS[words[0]].verbs
    name = words[1] if len(words) > 1 and words[1] in verbs else "add"
    return verbs[name][0], name


def _settings(command: str) -> str:
    match = re.match(r"(?:[A-Z_]+=\S* (?=\S))*", command)
    assert match is not None
    return match[0]


def _split(block: str) -> Iterator[str]:
    """Commands of a block: a quote, a backslash, a here document or a loop continues on the next line."""
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
