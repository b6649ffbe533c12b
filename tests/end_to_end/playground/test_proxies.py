"""The playground works behind the nginx of deploy/, and under a path prefix that a proxy removes."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.conftest import missing
from tests.end_to_end.playground.conftest import OpenPage
from tests.support.running_service import reserved_port
from tests.support.servers.nginx_server import NginxServer
from tests.support.servers.server_process import ServerProcess, accepts_connections

TABS = ("Search", "Rerank", "Collection", "Compare")
TEMPORARY = ("proxy", "client_body", "fastcgi", "uwsgi", "scgi")


@pytest.fixture(params=["deployed", "prefix"])
def proxied(request: pytest.FixtureRequest, url: str) -> Iterator[str]:
    if shutil.which("nginx") is None:
        missing("nginx")
    if request.param == "deployed":
        server = NginxServer([url.removeprefix("http://")])
        server.start()
        yield server.url
        server.remove()
        return
    with tempfile.TemporaryDirectory(prefix="nginx-") as folder:
        Path(folder).chmod(0o755)  # its user may not enter folders of root
        port = reserved_port()
        kept = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in TEMPORARY)
        server_block = f"server {{ listen 127.0.0.1:{port}; location /tools/ {{ proxy_pass {url}/; }} }}"
        conf = f"pid {folder}/pid; events {{}} http {{ access_log off; {kept} {server_block} }}"
        (Path(folder) / "nginx.conf").write_text(conf)
        address = f"http://127.0.0.1:{port}/tools"
        command = ["nginx", "-p", folder, "-c", f"{folder}/nginx.conf", "-e", f"{folder}/log", "-g", "daemon off;"]
        process = ServerProcess(command, lambda: accepts_connections(port), Path(folder))
        process.start()
        yield address
        process.kill()


def test_every_tab_works_behind_a_proxy(open_page: OpenPage, proxied: str) -> None:
    page = open_page(address=proxied)
    expect(page.locator("output.score")).to_be_visible()
    for name in TABS:
        page.get_by_role("tab", name=name).click()
        expect(page.get_by_role("tabpanel", name=name).get_by_role("heading", level=1)).to_be_visible()
    page.get_by_role("tab", name="Search").click()
    page.get_by_role("combobox", name="Query").fill("a lost parcel")
    expect(page.locator(".hit").first).to_be_visible()
    page.get_by_role("tab", name="Collection").click()
    page.get_by_role("button", name="Find near-duplicates").click()
    expect(page.get_by_text("No documents are as similar as 0.90")).to_be_visible()
    expect(page.get_by_role("alert")).to_be_empty()
