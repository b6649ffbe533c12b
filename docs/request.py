"""The page docs/request.md: one request through ten files, with the code that it runs there."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from semblance_client.vocabulary.similarity import SimilarityRequest

from semblance.models.encoders.transformer import Transformer
from semblance.models.measures.cosine import Cosine
from semblance.service.api.edge.stack import Edge
from semblance.service.api.routes.similarity import compare_texts
from semblance.service.api.routing import JsonRoute
from semblance.service.batching.policy import next_batch
from semblance.service.process.connections import Connection
from semblance.service.usecases.compare import Compare
from semblance.service.usecases.text_embedder import TextEmbedder

ROOT = Path(__file__).parents[1]


class Step(NamedTuple):
    """A function or class that the request passes, and what happens there."""

    code: Callable[..., object]
    what: str


STEPS: Sequence[Step] = (
    Step(Connection.on_headers_complete, "uvicorn has parsed the head of the request; limits on its size are checked."),
    Step(Edge.__init__, "Six middlewares: log and id, disconnects, origin, shutdown, key, headers of the body."),
    Step(JsonRoute.handle, "The body is read and validated; the services that the route needs are looked up by type."),
    Step(SimilarityRequest, "What the body may have. The client, the route and the use case share this class."),
    Step(compare_texts, "The route passes the request to the use case, and its response to the client as JSON."),
    Step(
        Compare.pairs, "The use case: embed the texts, score each pair, in chunks that leave room for other requests."
    ),
    Step(
        TextEmbedder.embed, "Embeddings come from the cache; the texts that are missing are tokenized and encoded once."
    ),
    Step(next_batch, "Texts of all callers wait in one queue; a model thread takes those that fit one batch."),
    Step(Transformer.encode, "The encoder makes token vectors of a batch."),
    Step(Cosine.score, "The measure makes a score of two texts."),
)


def request() -> Iterator[str]:
    """A section for each file, with the code of the function that the request enters."""
    for number, step in enumerate(STEPS, 1):
        file = Path(inspect.getfile(step.code)).resolve().relative_to(ROOT)
        yield from ("", f"## {number}. `{file.as_posix()}`", "", step.what, "", "```python", _source(step.code), "```")
    yield ""


def _source(code: Callable[..., object]) -> str:
    """The source of a function or class, without its docstrings."""
    lines = textwrap.dedent(inspect.getsource(code)).splitlines()
    left_out: set[int] = set()
    for node in ast.walk(ast.parse("\n".join(lines))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and ast.get_docstring(node):
            left_out.update(range(node.body[0].lineno - 1, node.body[0].end_lineno or 0))
    return "\n".join(line for i, line in enumerate(lines) if i not in left_out)
