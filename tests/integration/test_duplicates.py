"""`semblance duplicates` on a running service."""

from __future__ import annotations

import json

from tests.integration.conftest import Api
from tests.support.command_line import semblance

TEXTS = {
    "cat-1": "A cat sleeps on the warm windowsill.",
    "tax": "Income tax returns are due at the end of April.",
    "cat-2": "A cat is sleeping on the warm window sill.",
    "cat-3": "The cat is asleep on the warm windowsill.",
    "train": "The night train to Vienna leaves from platform nine.",
    "tax-again": "Income tax returns are due by the end of April.",
}


def fill(api: Api, collection: str) -> None:
    api.collection(collection, model="minilm")
    api.store(collection, *({"id": doc_id, "text": text} for doc_id, text in TEXTS.items()))


def test_json_groups_link_members_to_neighbors_above_the_threshold(api: Api, url: str) -> None:
    fill(api, "twins")
    ran = semblance("duplicates", "twins", "--threshold", "0.8", "--json", "--explain", "--url", url)
    groups = [json.loads(line)["documents"] for line in ran.stdout.splitlines()]
    assert sorted(sorted(each["id"] for each in group) for group in groups) == [
        ["cat-1", "cat-2", "cat-3"],
        ["tax", "tax-again"],
    ]
    for group in groups:
        first, *others = group
        assert (first["like"], first["score"]) == (None, None)
        for each in others:
            pair = {"a": TEXTS[each["like"]], "b": TEXTS[each["id"]]}
            [score] = api.ok("/similarity", {"pairs": [pair], "model": "minilm"})["scores"]
            assert abs(each["score"] - score) < 1e-5
            assert each["score"] >= 0.8
            assert each["links"][0]["contribution"] > 0
            assert each["links"][0]["a"] in pair["a"]
            assert each["links"][0]["b"] in pair["b"]


def test_text_output_lists_groups_and_their_number(api: Api, url: str) -> None:
    fill(api, "readable")
    ran = semblance("duplicates", "readable", "--threshold", "0.95", "--measure", "rcmd", "--url", url)
    assert ran.stdout.startswith("Group 1: 2 documents\n  tax  Income tax")
    assert "documents: 1" in ran.stderr
    none = semblance("duplicates", "readable", "--threshold", "0.999", "--url", url)
    assert (none.returncode, none.stdout) == (0, "")
    assert "documents: 0" in none.stderr


def test_errors_are_messages(api: Api, url: str) -> None:
    fill(api, "refused")
    for arguments, message in (
        (("nosuch", "--threshold", "0.9"), "no collection 'nosuch'"),
        (("refused", "--threshold", "0.9", "--measure", "nosuch"), "nosuch"),
        (("refused",), "--threshold"),
    ):
        ran = semblance("duplicates", *arguments, "--url", url)
        assert ran.returncode != 0
        assert message in ran.stderr
        assert "Traceback" not in ran.stderr
