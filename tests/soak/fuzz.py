"""Does the service keep what its OpenAPI document promises, whatever is sent?

    python -m tests.soak.fuzz --examples 200 --seed 1

generates requests from the document with schemathesis, valid and invalid ones, sends them to a fresh service with the
sample collection, and checks every answer: documented status, content type and schema, invalid data refused, no 5xx.
It prints how many calls of each route got which class of status, and every promise that was broken.

Valid data is valid by itself only: whether a collection of that name exists, or a filter's bounds are of one type, no
schema can say. Names in valid requests are therefore replaced by such that exist; the rest may be refused, and the
table shows how much is. NDJSON is a string to a schema, and never invalid, as every line of it is answered by itself:
it is sent as valid data only, any lines with a document after them.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import httpx2
import schemathesis
from rich.console import Console
from rich.table import Table
from schemathesis.core.parameters import ParameterLocation
from schemathesis.engine import events, from_schema
from schemathesis.engine.recorder import ScenarioRecorder
from schemathesis.hooks import unregister

from semblance.service.api.ndjson import MEDIA_TYPE as NDJSON
from tests.support.figures import keep
from tests.support.running_service import running_service
from tests.support.wide_console import wide_console

FILLED, WRITTEN = "default", "written"  # the collection that is read, and the one that is written to
DOCUMENT = "shipping-001"
# invalid requests are all refused, and there are many: fewer of them keep the two kinds about even
VALID_PER_INVALID = 8


@dataclass(frozen=True, slots=True)
class Row:
    """What came of the calls of one operation with valid or with invalid data."""

    operation: str
    data: str
    calls: int
    ok: int
    refused: int
    failed: int


@dataclass(frozen=True, slots=True)
class Report:
    """All calls by operation, and what was promised and not kept."""

    rows: Sequence[Row]
    broken: Sequence[str]

    def share(self, data: str | None = None) -> float:
        """Of the calls with `data`, or of all calls, how many succeeded."""
        rows = [row for row in self.rows if data in (None, row.data)]
        return sum(row.ok for row in rows) / max(1, sum(row.calls for row in rows))

    @property
    def failed(self) -> int:
        """Answers of 5xx."""
        return sum(row.failed for row in self.rows)

    def summary(self) -> dict[str, float]:
        """The figures that count."""
        return {
            "calls": sum(row.calls for row in self.rows),
            "share_of_2xx": self.share(),
            "share_of_2xx_with_valid_data": self.share("valid"),
            "answers_of_5xx": self.failed,
            "broken_promises": len(self.broken),
        }


@schemathesis.serializer(NDJSON)
def _lines(_: schemathesis.SerializationContext, body: Any) -> bytes:
    return str(body).encode("utf-8", "surrogatepass")


class Names:
    """Puts names that exist into valid requests, and makes what a request is to delete."""

    def __init__(self, url: str) -> None:
        self._http = httpx2.Client(base_url=url, timeout=60)
        self._numbers = itertools.count()
        self._http.put(f"/collections/{WRITTEN}").raise_for_status()
        self._other = self._http.get("/models").json()["models"][1]["name"]
        page = self._http.get(f"/collections/{FILLED}/documents", params={"limit": 1}).json()
        self._body = {
            "collection": FILLED,
            "id": DOCUMENT,
            "cursor": page["cursor"],
            "min_version": self._http.get(f"/collections/{FILLED}").json()["version"],
        }

    def place(self, _: object, case: schemathesis.Case[Any], __: object) -> None:
        """A hook before each call: change what is valid only."""
        valid = _valid_locations(case)
        if ParameterLocation.PATH in valid:
            case.path_parameters = dict(case.path_parameters) | self._path(case.operation.label, case.path_parameters)
        if ParameterLocation.QUERY in valid:
            case.query = self._existing(dict(case.query))
            if case.operation.path == "/explain":
                case.query = _one_form(case.query)
        if ParameterLocation.BODY in valid and isinstance(case.body, dict) and "documents" not in case.body:
            case.body = self._existing(case.body)
        if case.media_type == NDJSON and isinstance(case.body, str):
            case.body = f"{case.body}\n{json.dumps({'id': 'line', 'text': case.body})}\n"

    def close(self) -> None:
        """Drop the connections."""
        self._http.close()

    def _path(self, operation: str, given: Mapping[str, Any]) -> dict[str, Any]:
        if operation == "PUT /collections/{name}":
            return {"name": f"new-{next(self._numbers)}"}  # one that exists could have other settings
        if operation == "DELETE /collections/{name}":
            return {"name": self._made(f"/collections/gone-{next(self._numbers)}", {})}
        if operation == "DELETE /collections/{name}/documents/{doc_id}":
            document = {"id": f"gone-{next(self._numbers)}", "text": "a text"}
            self._http.post(f"/collections/{WRITTEN}/documents", json={"documents": [document]}).raise_for_status()
            return {"name": WRITTEN, "doc_id": document["id"]}
        if operation == "PUT /collections/{name}/rollover":
            return {"name": self._made(f"/collections/begun-{next(self._numbers)}", {})}
        if "/rollover" in operation:
            return {"name": self._rolling(f"/collections/rolling-{next(self._numbers)}")}
        name = WRITTEN if operation.startswith("POST") else FILLED
        return {key: value for key, value in (("name", name), ("doc_id", DOCUMENT)) if key in given}

    def _made(self, path: str, body: dict[str, Any]) -> str:
        self._http.put(path, json=body).raise_for_status()
        return path.rpartition("/")[2]

    def _rolling(self, path: str) -> str:
        """A collection that could be switched to another model."""
        self._http.delete(path)  # one from before may have been switched
        name = self._made(path, {})
        self._http.put(f"{path}/rollover", json={"model": self._other}).raise_for_status()
        return name

    def _existing(self, given: dict[str, Any]) -> dict[str, Any]:
        placed: dict[str, Any] = {
            key: value if value is None else self._body.get(key, value) for key, value in given.items()
        }
        if placed.get("candidates") is not None:  # must not be less than k
            placed["candidates"] = max(int(placed["candidates"]), int(placed.get("k", 10)))
        return placed


def _valid_locations(case: schemathesis.Case[Any]) -> set[ParameterLocation]:
    """The parts of a request that follow the document; of an example all do."""
    if case.meta is None or not case.meta.components:
        return set(ParameterLocation)
    return {location for location, component in case.meta.components.items() if component.mode.is_positive}


def _one_form(query: Mapping[str, Any]) -> dict[str, Any]:
    """Either b or a document, which a list of parameters cannot say."""
    if "id" in query:
        return {key: value for key, value in query.items() if key not in ("b", "model")}
    return {"b": "a text", **query}


def fuzzed_service() -> AbstractContextManager[str]:
    """A service with the sample, and with limits so low that requests at them are quick."""
    return running_service(
        sample="1",
        max_texts="8",
        max_documents="8",
        max_k="50",
        max_candidates="200",
        max_text_chars="2000",
        max_body_bytes="200000",
    )


def fuzz(url: str, examples: int, seed: int) -> Report:
    """Send `examples` valid requests of each operation, a part of that of invalid ones, and those at the bounds."""
    each_alone = {"stateful": {"enabled": False}, "examples": {"extra-data-sources": {"responses": False}}}
    sequences = {"enabled": False, "stateful": {"enabled": True}}
    counts: Counter[tuple[str, str, int]] = Counter()
    broken: list[str] = []
    for mode, number, phases, names in (
        ("positive", examples, each_alone, _names(url)),
        ("negative", max(1, examples // VALID_PER_INVALID), each_alone, _names(url)),
        ("positive", max(1, examples // VALID_PER_INVALID), sequences, nullcontext()),  # these remember what they made
    ):
        with names:
            for event in from_schema(_schema(url, mode, number, phases, seed)).execute():
                if isinstance(event, events.ScenarioFinished):
                    counts.update(_calls(event.recorder))
                    broken += _broken(event.recorder)
                elif isinstance(event, events.NonFatalError | events.FatalError):
                    broken.append(f"schemathesis: {event}")
    return Report(_rows(counts), sorted(set(broken)))


def _schema(url: str, mode: str, examples: int, phases: Mapping[str, Any], seed: int) -> schemathesis.BaseSchema:
    config = {
        "seed": seed,
        "continue-on-failure": True,
        "cache": {"enabled": False},
        "phases": phases,
        "generation": {"mode": mode, "max-examples": examples, "database": "none", "no-shrink": True},
        "checks": {"positive_data_acceptance": {"enabled": False}},
    }
    document = httpx2.get(f"{url}/openapi.json").raise_for_status().json()
    if mode == "negative":
        del document["paths"]["/collections/{name}/documents"]["post"]["requestBody"]["content"][NDJSON]
    return schemathesis.openapi.from_dict(document, config=schemathesis.Config.from_dict(config | {"base-url": url}))


@contextmanager
def _names(url: str) -> Iterator[None]:
    names = Names(url)

    @schemathesis.hook("before_call")
    def place(context: schemathesis.HookContext, case: schemathesis.Case[Any], kwargs: dict[str, Any]) -> None:
        names.place(context, case, kwargs)

    try:
        yield
    finally:
        unregister(place)
        names.close()


def _calls(recorder: ScenarioRecorder) -> Iterator[tuple[str, str, int]]:
    for case_id, interaction in recorder.interactions.items():
        case = recorder.cases[case_id].value
        valid = case.meta is not None and case.meta.generation.mode.is_positive
        status = 0 if interaction.response is None else interaction.response.status_code // 100
        yield case.operation.label, "valid" if valid else "invalid", status


def _broken(recorder: ScenarioRecorder) -> Iterator[str]:
    for checks in recorder.checks.values():
        for check in checks:
            if check.failure_info is not None:
                failure = check.failure_info.failure
                reproduce = check.failure_info.code_sample[:500]
                yield f"{recorder.label}: {check.name}: {failure.title}: {failure.message}\n{reproduce}"


def _rows(counts: Mapping[tuple[str, str, int], int]) -> list[Row]:
    keys = sorted({(operation, data) for operation, data, _ in counts}, key=lambda key: (key[1] != "valid", key[0]))
    return [
        Row(
            operation=operation,
            data=data,
            calls=sum(counts[operation, data, status] for status in range(6)),
            ok=counts[operation, data, 2],
            refused=counts[operation, data, 4],
            failed=counts[operation, data, 5] + counts[operation, data, 0],
        )
        for operation, data in keys
    ]


def show(report: Report, console: Console) -> None:
    """Print the table, the shares and the broken promises."""
    table = Table("operation", "data", *["calls", "2xx", "4xx", "5xx"])
    for row in report.rows:
        table.add_row(row.operation, row.data, *[str(n) for n in (row.calls, row.ok, row.refused, row.failed)])
    console.print(table)
    calls = sum(row.calls for row in report.rows)
    console.print(
        f"{calls:,} calls: {report.share():.0%} answered 2xx, {report.share('valid'):.0%} of those with valid data, "
        f"{report.share('invalid'):.0%} of those with invalid data; {report.failed} were 5xx"
    )
    for each in report.broken:
        console.print(f"BROKEN {each}", markup=False, style="red")


def main() -> None:
    """Run from the command line; ends with status 1 if a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=100, help="valid requests of each operation (100)")
    parser.add_argument("--seed", type=int, default=1, help="the same seed generates the same requests (1)")
    given = parser.parse_args()
    with fuzzed_service() as url:
        report = fuzz(url, given.examples, given.seed)
    show(report, wide_console())
    keep("fuzz", report.summary())
    raise SystemExit(1 if report.broken or report.failed else 0)


if __name__ == "__main__":
    main()
