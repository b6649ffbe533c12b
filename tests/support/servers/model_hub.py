"""A model hub on loopback: the part of its API that downloads use, and ways in which a hub can lie."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import unquote, urlsplit

LARGE = 100_000  # bytes of a file from which it is listed with its SHA-256, as Git LFS does it
REVISION = re.compile(r"/api/models/(?P<name>[^/]+/[^/]+)/revision/(?P<revision>[^/]+)")
RESOLVE = re.compile(r"/(?P<name>[^/]+/[^/]+)/resolve/(?P<commit>[^/]+)/(?P<path>.+)")


@dataclass(frozen=True)
class HubRequest:
    """A request as it arrived; `path` without its query."""

    path: str
    headers: Mapping[str, str]


@dataclass
class ModelHub:
    """A hub with repositories of models, and the requests that it got.

    Attributes:
        url: its address.
        branches: branches and tags of each repository, with their commits.
        commits: files of each commit.
        requests: all requests so far.
        sends: what is sent instead of a file, by path.
        breaks_after: bytes of a file after which the connection breaks, by path.
        pauses_after: bytes of a file after which nothing more is sent, by path, until the hub is closed.
        redirects: other addresses of files, by path.
        refuses: status and error code of every response.
        lists: replaces a list of files before it is sent.
    """

    url: str
    branches: dict[str, dict[str, str]] = field(default_factory=dict)
    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    requests: list[HubRequest] = field(default_factory=list)
    sends: dict[str, bytes] = field(default_factory=dict)
    breaks_after: dict[str, int] = field(default_factory=dict)
    pauses_after: dict[str, int] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
    refuses: tuple[int, str] | None = None
    lists: dict[str, Any] = field(default_factory=dict)
    closed: threading.Event = field(default_factory=threading.Event)

    def add(self, name: str, folder: Path, branch: str = "main") -> str:
        """Commit the files of a folder, move a branch to that commit, and return it."""
        found = (file for file in sorted(folder.rglob("*")) if file.is_file())
        files = {file.relative_to(folder).as_posix(): file.read_bytes() for file in found}
        digests = "".join(f"{path} {git_id(content)}\n" for path, content in files.items())
        commit = hashlib.sha1(digests.encode()).hexdigest()
        self.commits[commit] = files
        self.branches.setdefault(name, {})[branch] = commit
        return commit

    def fetched(self) -> list[str]:
        """Paths of the files that were requested."""
        return [unquote(match["path"]) for each in self.requests if (match := RESOLVE.fullmatch(each.path))]

    def honest(self) -> None:
        """Stop lying, and forget the requests so far."""
        for each in (self.sends, self.breaks_after, self.pauses_after, self.redirects, self.lists, self.requests):
            each.clear()
        self.refuses = None


def git_id(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def listed(path: str, content: bytes) -> dict[str, Any]:
    """A file as the hub lists it."""
    entry: dict[str, Any] = {"rfilename": path, "size": len(content), "blobId": git_id(content)}
    if len(content) >= LARGE:
        sha256 = hashlib.sha256(content).hexdigest()
        entry["lfs"] = {"size": len(content), "sha256": sha256, "pointerSize": 134}
    return entry


class _Handler(BaseHTTPRequestHandler):
    """Closes a connection after each response, as HTTP/1.0 does."""

    hub: ClassVar[ModelHub]

    def do_GET(self) -> None:
        path = urlsplit(self.path).path  # a proxy gets whole addresses
        self.hub.requests.append(HubRequest(path, {name.lower(): value for name, value in self.headers.items()}))
        if self.hub.refuses is not None:
            self._send(self.hub.refuses[0], b"{}", {"X-Error-Code": self.hub.refuses[1]})
        elif match := REVISION.fullmatch(path):
            self._list(match["name"], unquote(match["revision"]))
        elif match := RESOLVE.fullmatch(path):
            self._send_file(match["commit"], unquote(match["path"]))
        else:
            self._send(404, b"{}", {})

    def _list(self, name: str, revision: str) -> None:
        branches = self.hub.branches.get(name)
        commit = revision if revision in self.hub.commits else (branches or {}).get(revision)
        if branches is None or commit is None:
            self._send(404, b"{}", {"X-Error-Code": "RepoNotFound" if branches is None else "RevisionNotFound"})
            return
        files = [listed(path, content) for path, content in self.hub.commits[commit].items()]
        self._send(200, json.dumps({"id": name, "sha": commit, "siblings": files} | self.hub.lists).encode(), {})

    def _send_file(self, commit: str, path: str) -> None:
        if path in self.hub.redirects:
            self._send(302, b"", {"Location": self.hub.redirects[path]})
            return
        content = self.hub.sends.get(path, self.hub.commits[commit][path])
        start = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").removesuffix("-"))
        headers = {"Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"} if start else {}
        end = min(self.hub.breaks_after.get(path, len(content)), self.hub.pauses_after.get(path, len(content)))
        self._send(206 if start else 200, content[start:], headers, max(end - start, 0))
        if path in self.hub.pauses_after:
            self.hub.closed.wait()

    def _send(self, status: int, body: bytes, headers: Mapping[str, str], end: int | None = None) -> None:
        """Send a response; of its body, only the bytes before `end`."""
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[:end])
        self.wfile.flush()

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def model_hub() -> Iterator[ModelHub]:
    """Run a hub until the block ends."""

    class Handler(_Handler):
        pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Handler.hub = hub = ModelHub(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield hub
    finally:
        hub.closed.set()
        server.shutdown()
        thread.join()
        server.server_close()
