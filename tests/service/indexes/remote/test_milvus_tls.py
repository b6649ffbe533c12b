"""A connection to Milvus over TLS is encrypted, and made only to a server whose certificate is trusted."""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.project import PROJECT
from tests.support.servers.milvus_server import MilvusServer
from tests.support.servers.relay import Relay

pytestmark = pytest.mark.slow

PING = """
import sys
from semblance.service.indexes.remote.milvus_address import MilvusAddress
from semblance.service.indexes.remote.milvus_index import MilvusIndex

MilvusIndex(MilvusAddress.parse(sys.argv[1]), timeout_s=5).ping()
"""


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a private key and its certificate for 127.0.0.1, which signs itself."""
    file = tmp_path_factory.mktemp("tls") / "server.pem"
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=localhost"]
    options = [*kind, "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(file), "-days", "2"]
    made = subprocess.run(["openssl", "req", "-x509", *options], capture_output=True, timeout=600, check=True)
    with file.open("ab") as opened:
        opened.write(made.stdout)
    return file


@pytest.fixture
def port(milvus_server: MilvusServer, certificate: Path) -> Iterator[int]:
    """Port of a Milvus that is spoken to by TLS."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    context.set_alpn_protocols(["h2"])
    relay = Relay(milvus_server.port, context)
    relay.start()
    yield relay.port
    relay.stop()


def ping(url: str, trusted: Path | None) -> subprocess.CompletedProcess[str]:
    """Call the server from a process that trusts a certificate, or only public authorities."""
    environment = os.environ | ({"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": str(trusted)} if trusted else {})
    command = [sys.executable, "-c", PING, url]
    return subprocess.run(
        command, cwd=PROJECT, env=environment, capture_output=True, text=True, timeout=600, check=False
    )


def test_a_trusted_server_answers(port: int, certificate: Path) -> None:
    assert ping(f"milvuss://127.0.0.1:{port}", certificate).returncode == 0


def test_a_server_with_an_unknown_certificate_is_refused(port: int) -> None:
    assert "IndexUnavailable" in ping(f"milvuss://127.0.0.1:{port}", None).stderr


def test_without_tls_the_connection_fails(port: int, certificate: Path) -> None:
    assert "IndexUnavailable" in ping(f"milvus://127.0.0.1:{port}", certificate).stderr
