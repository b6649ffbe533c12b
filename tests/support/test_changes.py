"""Tests chosen for a change."""

from __future__ import annotations

import pytest

from tests.support.changes import chosen_files

FILES, NGINX = "tests/models/files/test_files_on_disk.py", "tests/deploy/test_nginx.py"
RERANK, ROWS = "tests/integration/test_rerank.py", "tests/service/cli/index/test_rows.py"


@pytest.mark.parametrize(
    ("changed", "chosen", "left_out"),
    [
        ("models/alignment/transport.py", "tests/models/alignment/test_transport.py", ROWS),
        ("models/alignment/transport.py", "semblance/models/alignment/transport.py", "semblance/models/text.py"),
        ("models/measures/rcmd.py", "tests/contracts/test_measures.py", ROWS),
        ("service/documents/sql.py", RERANK, "tests/models/alignment/test_transport.py"),
        ("lab/semblance_lab/training/train.py", "tests/integration/test_train.py", RERANK),
        ("service/playground/index.html", "tests/end_to_end/playground/test_playground.py", NGINX),
        ("deploy/nginx/nginx.conf", NGINX, RERANK),
        ("tests/integration/conftest.py", RERANK, FILES),
        ("docs/search.md", "tests/integration/test_docs.py", RERANK),
        ("tests/contracts/test_caches.py", "tests/contracts/test_caches.py", "tests/contracts/test_copies.py"),
    ],
)
def test_a_change_runs_the_tests_that_it_can_touch(changed: str, chosen: str, left_out: str) -> None:
    files = chosen_files([changed])
    assert chosen in files
    assert left_out not in files


@pytest.mark.parametrize("changed", ["pyproject.toml", "tests/conftest.py", "".join(["un", "named.bin"])])
def test_a_change_of_unknown_reach_runs_all_tests(changed: str) -> None:
    assert chosen_files(["docs/search.md", changed]) == ["semblance", "lab/semblance_lab", "tests"]
