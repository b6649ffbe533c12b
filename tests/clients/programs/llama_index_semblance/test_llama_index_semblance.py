"""Nodes have the sentences that the service keeps of their texts."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index_semblance import SemblancePrune
from semblance_client import BadRequest, Client, Unauthorized

from tests.clients.programs.task import BEST, DOCUMENTS, KEY, QUERY, URL

CLIENT = Client(URL, KEY)
README = Path(__file__).parents[4] / "clients" / "llama_index" / "README.md"
TEXTS = [*DOCUMENTS, "We are open. " + DOCUMENTS[BEST] + " Music is played.", " ", "🙂 My parcel never came. It rains."]


def nodes(texts: list[str]) -> list[NodeWithScore]:
    """Nodes with scores, and with metadata that language models see beside the text."""
    return [NodeWithScore(node=TextNode(text=text, metadata={"place": i}), score=i / 8) for i, text in enumerate(texts)]


@pytest.mark.parametrize("options", [{}, {"share": 0.5}, {"share": 1.0}, {"tokens": 12}])
def test_nodes_are_pruned_as_the_service_does(options: dict[str, Any]) -> None:
    given = nodes(TEXTS)
    pruned = SemblancePrune(client=CLIENT, **options).postprocess_nodes(given, QueryBundle(QUERY))
    found = CLIENT.prune(QUERY, [text for text in TEXTS if text.strip()], **options).documents
    expected = [" ".join(each.text for each in document.kept) for document in found if document.kept]
    assert [each.node.get_content() for each in pruned] == expected
    by_place = {each.node.metadata["place"]: each for each in given}
    for each in pruned:
        before = by_place[each.node.metadata["place"]]
        assert (each.score, each.node.node_id) == (before.score, before.node.node_id)
    assert [each.node.get_content() for each in given] == TEXTS


def test_awaited_calls_return_the_same() -> None:
    prune, given = SemblancePrune(client=CLIENT, tokens=20), nodes(TEXTS)
    awaited = asyncio.run(prune.apostprocess_nodes(given, query_str=QUERY))
    assert awaited == prune.postprocess_nodes(given, query_str=QUERY)


def test_refusals_raise_errors() -> None:
    assert SemblancePrune(client=CLIENT).postprocess_nodes(nodes([" "]), query_str=QUERY) == []
    with pytest.raises(ValueError, match="needs a query"):
        SemblancePrune(client=CLIENT).postprocess_nodes(nodes(TEXTS))
    with pytest.raises(BadRequest, match="share"):
        SemblancePrune(client=CLIENT, share=2).postprocess_nodes(nodes(TEXTS), query_str=QUERY)
    with pytest.raises(Unauthorized):
        SemblancePrune(client=Client(URL, "wrong")).postprocess_nodes(nodes(TEXTS), query_str=QUERY)


def test_the_example_of_the_readme_prints_its_output() -> None:
    [(code, shown)] = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    placed = code.replace('Client("http://127.0.0.1:8000")', f'Client("{URL}", "{KEY}")')
    ran = subprocess.run([sys.executable, "-c", placed], capture_output=True, text=True, check=False, timeout=600)
    assert (ran.stderr, ran.stdout) == ("", shown)
