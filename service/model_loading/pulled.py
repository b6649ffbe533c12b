"""Models that `semblance pull` fetched from a hub into the cache folder of huggingface_hub.

The commit of a revision is recorded by a reference of that cache, `refs/semblance/REVISION`: other programs, which keep
references of their own, never move it, and the tools of the library see that the files are in use.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from huggingface_hub import constants

from semblance.models.errors import BadCheckpoint
from semblance.models.files.atomic import partial_path, publish

_PART = r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}"
_NAME = re.compile(rf"({_PART}/{_PART})(?:@({_PART}(?:/{_PART}){{0,3}}))?")


@dataclass(frozen=True, slots=True)
class HubName:
    """Name of a model on a hub.

    Attributes:
        repository: organization and name, such as `org/name`.
        revision: branch, tag or commit.
    """

    repository: str
    revision: str = "main"

    def __str__(self) -> str:
        return self.repository if self.revision == "main" else f"{self.repository}@{self.revision}"

    @property
    def cache(self) -> Path:
        """Folder of the repository in the cache."""
        return Path(constants.HF_HUB_CACHE, "models--" + self.repository.replace("/", "--"))

    def snapshot(self, commit: str) -> Path:
        """Folder of the files of a commit."""
        return self.cache / "snapshots" / commit


@dataclass(frozen=True, slots=True)
class PulledModel:
    """A model that was pulled: its name, commit and folder, and the size of its files in bytes."""

    name: HubName
    commit: str
    folder: Path
    size: int


def hub_name(text: str) -> HubName | None:
    """Parse `org/name` or `org/name@revision`; None if it is neither.

    >>> hub_name("org/name@v1.0"), str(hub_name("org/name@main"))
    (HubName(repository='org/name', revision='v1.0'), 'org/name')
    >>> [hub_name(text) for text in ("name", "/org/name", "../name", "org/name@../../x", "a--b/c", "org/name@")]
    [None, None, None, None, None, None]
    """
    match = _NAME.fullmatch(text)
    if match is None or ".." in text or "--" in match[1]:
        return None
    return HubName(match[1], match[2] or "main")


def is_commit(text: str) -> bool:
    """Whether a revision is the full name of a commit.

    >>> is_commit("0123456789" * 4), is_commit("main")
    (True, False)
    """
    return re.fullmatch("[0-9a-f]{40}", text) is not None


def recorded_commit(name: HubName) -> str | None:
    """The commit that was pulled for a name, if its files are there."""
    commits = _recorded_commits(name.cache)
    if name.revision in commits.values():
        return name.revision
    return commits.get(name.revision)


def record_commit(name: HubName, commit: str) -> None:
    """Record the commit of a name, whose files are complete.

    Raises:
        OSError: the cache folder cannot be written to.
    """
    reference = _references(name.cache) / name.revision
    reference.parent.mkdir(parents=True, exist_ok=True)
    partial_path(reference).write_text(commit, "utf-8")
    publish(partial_path(reference), reference)


def pulled_folder(name: HubName) -> Path:
    """The folder of the commit that was pulled for a name.

    Raises:
        BadCheckpoint: the name was not pulled, or its files are gone.
    """
    commit = recorded_commit(name)
    if commit is None:
        raise BadCheckpoint(
            f"no such file or folder: {name}; if it is a model of a hub, fetch it by `semblance pull {name}`"
        )
    return name.snapshot(commit)


def pulled_models() -> list[PulledModel]:
    """All models that were pulled, by name."""
    models = []
    for cache in sorted(Path(constants.HF_HUB_CACHE).glob("models--*--*")):
        for revision, commit in sorted(_recorded_commits(cache).items()):
            if name := hub_name(f"{cache.name.removeprefix('models--').replace('--', '/')}@{revision}"):
                folder = name.snapshot(commit)
                size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
                models.append(PulledModel(name, commit, folder, size))
    return models


def _recorded_commits(cache: Path) -> dict[str, str]:
    """Revision -> commit, of those whose files are there."""
    folder = _references(cache)
    files = [file for file in folder.rglob("*") if file.is_file()]
    commits = {file.relative_to(folder).as_posix(): file.read_text("utf-8", "replace").strip() for file in files}
    return {
        revision: commit
        for revision, commit in commits.items()
        if is_commit(commit) and (cache / "snapshots" / commit).is_dir()
    }


def _references(cache: Path) -> Path:
    return cache / "refs" / "semblance"
