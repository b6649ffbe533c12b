"""Download of a model from a hub, into the cache folder of huggingface_hub.

The library lists the files and transfers them. No path, size or digest that a hub sends is used before it was checked,
and a file gets its final name when its content is right. Until then it has a name that a later call finds and
continues; partial files of the library end with its process.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from typing import Any, Self, cast
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2
from huggingface_hub import HfApi, constants, hf_hub_url
from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, RevisionNotFoundError
from huggingface_hub.file_download import http_get
from huggingface_hub.hf_api import RepoSibling
from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]  # it is documented there
from huggingface_hub.utils.sha import git_hash

from semblance.models.errors import SemblanceError
from semblance.models.files.atomic import publish
from semblance.models.files.digests import file_sha256
from semblance.models.files.json_file import read_json
from semblance.models.files.lines import Advance
from semblance.service.addresses import is_loopback
from semblance.service.model_loading.pulled import HubName, is_commit

SUFFIXES = (".safetensors", ".json", ".txt", ".model")
MODULES = "modules.json"
LIST_S = 30.0  # to list the files of a commit


class HubFailed(SemblanceError):
    """A model cannot be fetched from a hub; raised by commands only."""

    code = "hub_failed"


class _TooLong(Exception):
    """A hub sends more bytes than it lists."""


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file as a hub lists it.

    Attributes:
        path: relative to the repository.
        size: in bytes.
        digest: SHA-256 of a large file, id of the blob in git (SHA-1) of others, in hexadecimal.
    """

    path: str
    size: int
    digest: str

    @classmethod
    def of(cls, listed: RepoSibling) -> Self:
        """The file of an entry of the list. Raises ValueError if it cannot be placed or checked."""
        digest = listed.lfs.sha256 if listed.lfs else listed.blob_id
        size = listed.lfs.size if listed.lfs else listed.size
        path = PurePosixPath(listed.rfilename)
        if path.is_absolute() or ".." in path.parts or not listed.rfilename.isprintable():
            raise ValueError(f"the path {listed.rfilename!r}")
        if not isinstance(size, int) or size < 0 or not re.fullmatch("[0-9a-f]{40}(?:[0-9a-f]{24})?", str(digest)):
            raise ValueError(f"{path} without size and digest")
        return cls(str(path), size, str(digest))

    def matches(self, file: Path) -> bool:
        """Whether a file exists and has this size and digest."""
        if not file.is_file() or file.stat().st_size != self.size:
            return False
        return self.digest == (file_sha256(file) if len(self.digest) == 64 else git_hash(file.read_bytes()))


@dataclass(frozen=True, slots=True)
class ModelCommit:
    """A commit of a model.

    Attributes:
        name: the name by which it was found.
        sha: its own name, in hexadecimal.
        files: those that may be fetched.
    """

    name: HubName
    sha: str
    files: Sequence[HubFile]


class Hub:
    """The model hub at HF_ENDPOINT.

    Attributes:
        address: its address, without a password.
        accepts_token: whether a token may be sent to it: over https, or if it is on this machine.

    Raises:
        HubFailed: HF_HUB_OFFLINE is set.
    """

    def __init__(self) -> None:
        if constants.is_offline_mode():
            raise HubFailed("HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE is set, so nothing is fetched: unset it to pull")
        constants.HF_HUB_DISABLE_TELEMETRY = True
        url = urlsplit(constants.ENDPOINT)
        self.address = url._replace(netloc=url.netloc.rpartition("@")[2]).geturl()
        self.accepts_token = url.scheme == "https" or _stays_here(url.hostname or "")
        self._headers = build_hf_headers(
            token=None if self.accepts_token else False,
            library_name="semblance",
            library_version=version("semblance-server"),
        ) | {"accept-encoding": "identity"}  # a part of a compressed file could not be continued

    def commit(self, name: HubName) -> ModelCommit:
        """Find the commit of a name, and list its files.

        Raises:
            HubFailed: there is none, it has no safetensors, or the hub cannot be reached, refuses or lists nonsense.
        """
        with self._failures(name):
            info = HfApi(constants.ENDPOINT, token=False, headers=self._headers).model_info(
                name.repository, revision=name.revision, files_metadata=True, timeout=LIST_S
            )
            listed = info.siblings or []
            files = [HubFile.of(each) for each in listed if each.rfilename.endswith(SUFFIXES)]
            if not is_commit(str(info.sha)) or (is_commit(name.revision) and info.sha != name.revision):
                raise ValueError(f"the commit {info.sha}")
        if not any(file.path.endswith(".safetensors") for file in files):
            raise HubFailed(
                f"{name} has no *.safetensors file: other formats of weights, such as pytorch_model.bin, can run code "
                "and are not fetched; choose another model, or a revision with safetensors"
            )
        return ModelCommit(name, str(info.sha), files)

    def needed_files(self, commit: ModelCommit) -> list[HubFile]:
        """Files in the root and in the folders of modules, whose list is fetched.

        Raises:
            HubFailed, BadCheckpoint, OSError: as `fetch`, or the list of modules is malformed.
        """
        folders = {"."}
        for listing in (file for file in commit.files if file.path == MODULES):
            self.fetch(commit, listing, lambda _: None)
            modules = read_json(commit.name.snapshot(commit.sha) / MODULES, list)
            folders |= {str(PurePosixPath(str(each.get("path")))) for each in modules if isinstance(each, dict)}
        return [file for file in commit.files if str(PurePosixPath(file.path).parent) in folders]

    def fetch(self, commit: ModelCommit, file: HubFile, advance: Advance) -> None:
        """Fetch a file of a commit, unless it is there, and check it.

        Raises:
            HubFailed: the hub sends other content than it lists, or fails.
            OSError: the cache folder cannot be written to.
        """
        blob = commit.name.cache / "blobs" / file.digest
        if file.matches(blob):
            advance(file.size)
        else:
            blob.parent.mkdir(parents=True, exist_ok=True)
            self._download(commit, file, blob, advance)
        link = commit.name.snapshot(commit.sha) / file.path
        if not (link.exists() and link.samefile(blob)):
            link.parent.mkdir(parents=True, exist_ok=True)
            link.unlink(missing_ok=True)
            link.symlink_to(os.path.relpath(blob, link.parent))

    def _download(self, commit: ModelCommit, file: HubFile, blob: Path, advance: Advance) -> None:
        incomplete = blob.with_name(f"{blob.name}.incomplete")
        url = hf_hub_url(commit.name.repository, file.path, revision=commit.sha)
        try:
            with incomplete.open("ab") as stream, self._failures(commit.name):
                done, bar = stream.tell(), cast("type[Any]", partial(_Bar, file.size, advance))
                if done != file.size:
                    http_get(url, stream, resume_size=done, headers=self._headers, tqdm_class=bar)
            sent = f"{incomplete.stat().st_size:,}"
        except _TooLong:
            sent = "more"
        if not file.matches(incomplete):
            incomplete.unlink()
            raise HubFailed(
                f"{file.path} from {self.address} is not what that hub lists, {file.size:,} bytes with the digest "
                f"{file.digest}; what it sent ({sent} bytes) was removed: run `semblance pull {commit.name}` again, "
                "and if that fails too, use another hub"
            )
        publish(incomplete, blob)

    @contextmanager
    def _failures(self, name: HubName) -> Iterator[None]:
        """Turn errors of the library into HubFailed."""
        try:
            yield
        except RevisionNotFoundError as error:
            raise HubFailed(f"{name.repository} has no branch, tag or commit {name.revision!r}") from error
        except GatedRepoError as error:
            raise HubFailed(
                f"{name.repository} is gated: accept its conditions at {self.address}/{name.repository}, and set "
                "HF_TOKEN to a token of that account"
            ) from error
        except HfHubHTTPError as error:
            status = error.response.status_code
            if status in (401, 403, 404):
                raise HubFailed(
                    f"{self.address} has no model {name}, or your token may not read it (status {status}): check the "
                    "name, and set HF_TOKEN if the model is private"
                ) from error
            raise HubFailed(f"{self.address} answers with status {status}: {self._again(name)}") from error
        except httpx2.HTTPError as error:
            raise HubFailed(f"{self.address} cannot be reached, or broke off: {error}; {self._again(name)}") from error
        except (httpx2.InvalidURL, AttributeError, KeyError, TypeError, ValueError) as error:
            raise HubFailed(
                f"{self.address} does not answer as a model hub does: it sent {error}; check HF_ENDPOINT"
            ) from error

    def _again(self, name: HubName) -> str:
        return f"run `semblance pull {name}` again later, which continues where this ended"


def _stays_here(host: str) -> bool:
    """Whether requests over http to a host reach it on this machine, through no proxy."""
    return is_loopback(host) and (bool(proxy_bypass(host)) or not {"http", "all"} & getproxies().keys())


class _Bar:
    """Part of a tqdm bar that `http_get` uses; counts bytes, at most those of the file."""

    def __init__(self, size: int, advance: Advance, *, initial: int = 0, **_: object) -> None:
        self._size, self._advance, self._received = size, advance, 0
        self.update(initial)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the bar to its owner."""

    def update(self, more: int) -> None:
        """Count more bytes. Raises _TooLong."""
        self._received += more
        if self._received > self._size:
            raise _TooLong
        self._advance(more)
