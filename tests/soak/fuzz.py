"""Does the service conform to its OpenAPI document, whatever is sent?

    python -m tests.soak.fuzz --examples 200 --seed 1

generates valid and invalid requests from the document with schemathesis, sends them to a new service with the sample
collection, and checks every response: documented status, content type and schema, invalid data refused, no 5xx. It
prints the number of calls of each route by class of status, and every violation.

A schema cannot express everything that a valid request needs, such as an existing collection or bounds of a filter that
have the same type. Names in valid requests are therefore replaced by existing ones; the remaining refusals are counted
in the table. NDJSON is a string to the schema and never invalid, because each line gets its own response: it is sent as
valid data only, as random lines followed by a document.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from typing import Any

import httpx2
import schemathesis
from rich.console import Console
from schemathesis.core.errors import UnsupportedSchema
from schemathesis.core.parameters import ParameterLocation
from schemathesis.engine import events, from_schema
from schemathesis.engine.recorder import ScenarioRecorder
from schemathesis.hooks import unregister

from semblance.service.api.ndjson import MEDIA_TYPE as NDJSON
from tests.soak.figures import table_of
from tests.support.project import PROJECT
from tests.support.results import save_results
from tests.support.running_service import running_service
from tests.support.wide_console import wide_console

READ, WRITTEN = "default", "written"  # the collections that are read from and written to
DOCUMENT = "shipping-001"
EMPTY: Mapping[str, str] = {}
GONE = {"DELETE /collections/{name}": EMPTY, "DELETE /aliases/{name}": {"collection": READ}}  # bodies that create them
COMPARED = {"a": DOCUMENT, "b": "shipping-002"}
# every invalid request is refused, and each operation has many kinds of them: with fewer, both kinds are about as many
VALID_PER_INVALID = 8


@dataclass(frozen=True, slots=True)
class Row:
    """Calls of one operation with valid or invalid data, by status."""

    operation: str
    data: str
    calls: int
    ok: int
    refused: int
    failed: int


@dataclass(frozen=True, slots=True)
class Report:
    """Calls by operation, and all violations of the document."""

    rows: Sequence[Row]
    violations: Sequence[str]

    def share(self, data: str | None = None) -> float:
        rows = [row for row in self.rows if data in (None, row.data)]
        return sum(row.ok for row in rows) / max(1, sum(row.calls for row in rows))

    @property
    def failed(self) -> int:
        return sum(row.failed for row in self.rows)

    def summary(self) -> dict[str, float]:
        return {
            "calls": sum(row.calls for row in self.rows),
            "share_of_2xx": self.share(),
            "share_of_2xx_with_valid_data": self.share("valid"),
            "share_of_2xx_with_invalid_data": self.share("invalid"),
            "answers_of_5xx": self.failed,
            "broken_promises": len(self.violations),
        }


@schemathesis.serializer(NDJSON)
def _lines(_: schemathesis.SerializationContext, body: Any) -> bytes:
    return str(body).encode("utf-8", "surrogatepass")


class ExistingNames:
    """Puts existing names into valid requests, and creates what a request deletes."""

    def __init__(self, url: str) -> None:
        self._http = httpx2.Client(base_url=url, timeout=60)
        self._numbers = itertools.count()
        self._http.put(f"/collections/{WRITTEN}").raise_for_status()
        self._model, self._other_model = (each["name"] for each in self._http.get("/models").json()["models"][:2])
        page = self._http.get(f"/collections/{READ}/documents", params={"limit": 1}).json()
        self._body = {
            "collection": READ,
            "id": DOCUMENT,
            "like": DOCUMENT,
            "cursor": page["cursor"],
            "min_version": self._http.get(f"/collections/{READ}").json()["version"],
        }

    def insert(self, case: schemathesis.Case[Any]) -> None:
        """Hook before each call: change the valid parts of a request."""
        valid = _valid_locations(case)
        if ParameterLocation.PATH in valid:
            case.path_parameters = dict(case.path_parameters) | self._path(case.operation.label, case.path_parameters)
        if ParameterLocation.QUERY in valid:
            case.query = self._conditional(self._existing(dict(case.query)))
            if case.operation.label == "GET /explain":
                case.query = _one_text_source(case.query)
        if ParameterLocation.BODY in valid and isinstance(case.body, dict):
            case.body = self._valid_body(case.operation.label, case.body)
        if case.media_type == NDJSON and isinstance(case.body, str):
            case.body = f"{case.body}\n{json.dumps({'id': 'line', 'text': case.body})}\n"

    def _valid_body(self, operation: str, body: dict[str, Any]) -> dict[str, Any]:
        match operation.rpartition("/")[2], operation.partition(" ")[0]:
            case "documents", "PATCH":
                return body | {"documents": [{"id": DOCUMENT, "metadata": {"state": "new"}}]}
            case "documents", _:
                return body | {"documents": [self._conditional(each) for each in body["documents"]]}
            case "duplicates", _:
                return self._existing(body) | {"min_score": 0.9, "limit": 8}  # else it takes minutes
            case "delete", _:
                return self._existing({key: value for key, value in body.items() if key != "min_version"})
            case _:
                return self._existing(body)

    def close(self) -> None:
        self._http.close()

    def _path(self, operation: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        if operation in ("PUT /collections/{name}", "PUT /aliases/{name}"):
            return {"name": f"new-{next(self._numbers)}"}  # an existing one may have other settings
        if operation in GONE:
            path = operation.partition(" ")[2].replace("{name}", f"gone-{next(self._numbers)}")
            return {"name": self._create(path, GONE[operation])}
        if operation == "DELETE /collections/{name}/documents/{doc_id}":
            document = {"id": f"gone-{next(self._numbers)}", "text": "a text"}
            self._http.post(f"/collections/{WRITTEN}/documents", json={"documents": [document]}).raise_for_status()
            return {"name": WRITTEN, "doc_id": document["id"]}
        if operation == "PUT /collections/{name}/reembedding":
            return {"name": self._create(f"/collections/begun-{next(self._numbers)}")}
        if "/reembedding" in operation:
            return {"name": self._create_reembedding(f"/collections/reembedding-{next(self._numbers)}")}
        writes = operation in ("POST /collections/{name}/documents", "POST /collections/{name}/delete")
        name = WRITTEN if writes else self._model if "/models/" in operation else READ
        return {key: value for key, value in (("name", name), ("doc_id", DOCUMENT)) if key in parameters}

    def _create(self, path: str, body: Mapping[str, str] = EMPTY) -> str:
        self._http.put(path, json=body).raise_for_status()
        return path.rpartition("/")[2]

    def _create_reembedding(self, path: str) -> str:
        self._http.delete(path)  # an earlier one may have been switched
        name = self._create(path)
        self._http.put(f"{path}/reembedding", json={"model": self._other_model}).raise_for_status()
        return name

    def _conditional(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """The same with the current version as `if_version`, if there is one."""
        if parameters.get("if_version") is None:
            return parameters
        return parameters | {"if_version": self._http.get(f"/collections/{WRITTEN}").json()["version"]}

    def _existing(self, parameters: dict[str, Any]) -> dict[str, Any]:
        existing: dict[str, Any] = {
            key: value if value is None else self._body.get(key, value) for key, value in parameters.items()
        }
        if {"query", "a", "b"} <= existing.keys():  # of /explain/difference: a and b are documents
            existing |= COMPARED
        existing |= _valid_page(existing)
        existing.pop("min_probability", None)  # no measure of the service has a calibration
        if "filter" in existing and isinstance(existing["filter"], dict):
            existing["filter"] = _valid_filter(existing["filter"])
        if existing.get("group_by") is None or existing.get("diversity"):
            existing.pop("group_size", None)
        if existing.get("mode") == "lexical" or existing.get("sort"):
            ordering = ("diversity", "boosts", "field_weights")
            existing = {key: value for key, value in existing.items() if key not in ordering}
        existing |= _valid_text_fields(existing)
        if existing.get("cursor") is not None:
            existing.pop("offset", None)
        if "facets" in existing:  # each of another field, without ranges, whose bounds must agree
            by_field = {each["field"]: each | {"ranges": []} for each in existing["facets"]}
            existing["facets"] = list(by_field.values())
        if "boosts" in existing:  # null is as good as none
            given = ({key: value for key, value in each.items() if value is not None} for each in existing["boosts"])
            existing["boosts"] = [
                each | {"origin": None} for each in given if {"half_life_days", "full_at"} & set(each)
            ]
        return existing


def _valid_text_fields(existing: Mapping[str, Any]) -> dict[str, Any]:
    """Weights of a collection without text fields; fields of a new one, which differ and need passages."""
    valid: dict[str, Any] = {}
    if "field_weights" in existing:
        valid["field_weights"] = dict.fromkeys(["text"][: len(existing["field_weights"])], 2.0)
    if "text_fields" in existing:
        fields = sorted({*existing["text_fields"]} - {"text"})
        valid["text_fields"] = [] if existing.get("passages") == "none" else fields
    return valid


def _valid_page(existing: Mapping[str, Any]) -> dict[str, Any]:
    """Offset and candidates as the service takes them: with k, at most 1,000, and no more than candidates."""
    page: dict[str, Any] = {}
    if "offset" in existing:
        page["offset"] = int(existing["offset"]) % 10
    if existing.get("candidates") is not None:
        least = int(page.get("offset", 0)) + int(existing.get("k", 10))
        page["candidates"] = max(int(existing["candidates"]), least)
    return page


def _valid_filter(where: Mapping[str, Any]) -> dict[str, Any]:
    """The document does not say that the parts of a filter are filters again."""
    parts = {"and": [{"n": 1}], "or": [{"n": 1}], "not": {"n": 1}}
    return {key: parts.get(key, value) for key, value in where.items()}


def _valid_locations(case: schemathesis.Case[Any]) -> set[ParameterLocation]:
    """The parts of a request that conform to the document; parts from examples do."""
    generated = case.meta.components if case.meta is not None else {}
    return set(ParameterLocation) - {
        location for location, component in generated.items() if not component.mode.is_positive
    }


def _one_text_source(query: Mapping[str, Any]) -> dict[str, Any]:
    """Either b or a document: parameters cannot express this condition."""
    if "id" in query:
        return {key: value for key, value in query.items() if key not in ("b", "model")}
    return {"b": "a text", **query}


def fuzzed_service(**settings: str) -> AbstractContextManager[str]:
    """A service with the sample collection, low limits that are fast to reach, and more settings."""
    return running_service(
        PROJECT,
        sample="1",
        max_texts="8",
        max_documents="8",
        max_k="50",
        max_candidates="200",
        max_text_chars="2000",
        max_body_bytes="200000",
        **settings,
    )


def fuzz(url: str, examples: int, seed: int, *, boundaries: bool = True) -> Report:
    """Send `examples` valid requests per operation, fewer invalid ones, and sequences.

    With `boundaries`, also each value at a bound of the document and beyond it, which are thousands.
    """
    single = {
        "coverage": {"enabled": boundaries},
        "stateful": {"enabled": False},
        "examples": {"extra-data-sources": {"responses": False}},
    }
    sequences = {"enabled": False, "stateful": {"enabled": True}}
    counts: Counter[tuple[str, str, int]] = Counter()
    violations: list[str] = []
    for mode, number, phases, names in (
        ("positive", examples, single, _inserting_names(url)),
        ("negative", max(1, examples // VALID_PER_INVALID), single, _inserting_names(url)),
        ("positive", max(1, examples // VALID_PER_INVALID), sequences, nullcontext()),  # uses names of its own
    ):
        with names:
            for event in from_schema(_schema(url, mode, number, phases, seed)).execute():
                if isinstance(event, events.ScenarioFinished):
                    counts.update(_calls(event.recorder))
                    violations += _violations(event.recorder)
                elif isinstance(event, events.NonFatalError | events.FatalError) and not _is_unsupported(event, mode):
                    violations.append(f"schemathesis: {event}")
    return Report(_rows(counts), sorted(set(violations)))


def _is_unsupported(event: events.NonFatalError | events.FatalError, mode: str) -> bool:
    """Whether schemathesis drew a negation of a schema for which it cannot generate values; one in 100 or so is."""
    return mode == "negative" and isinstance(event, events.NonFatalError) and isinstance(event.value, UnsupportedSchema)


def _schema(url: str, mode: str, examples: int, phases: Mapping[str, Any], seed: int) -> schemathesis.BaseSchema:
    config = {
        "seed": seed,
        "continue-on-failure": True,
        "request-timeout": 600,
        "cache": {"enabled": False},
        "phases": phases,
        "generation": {"mode": mode, "max-examples": examples, "database": "none", "no-shrink": True},
        "checks": {"positive_data_acceptance": {"enabled": False}},
    }
    document = httpx2.get(f"{url}/openapi.json", timeout=600).raise_for_status().json()
    if mode == "positive":  # in the document it is described in words only
        body = document["paths"]["/collections/{name}/documents"]["post"]["requestBody"]
        body["content"][NDJSON] = {"schema": {"type": "string"}}
    return schemathesis.openapi.from_dict(document, config=schemathesis.Config.from_dict(config | {"base-url": url}))


@contextmanager
def _inserting_names(url: str) -> Iterator[None]:
    names = ExistingNames(url)

    @schemathesis.hook("before_call")
    def insert(context: schemathesis.HookContext, case: schemathesis.Case[Any], kwargs: dict[str, Any]) -> None:
        del context, kwargs
        names.insert(case)

    try:
        yield
    finally:
        unregister(insert)
        names.close()


def _calls(recorder: ScenarioRecorder) -> Iterator[tuple[str, str, int]]:
    for case_id, interaction in recorder.interactions.items():
        case = recorder.cases[case_id].value
        valid = case.meta is not None and case.meta.generation.mode.is_positive
        status = 0 if interaction.response is None else interaction.response.status_code // 100
        yield case.operation.label, "valid" if valid else "invalid", status


def _violations(recorder: ScenarioRecorder) -> Iterator[str]:
    for checks in recorder.checks.values():
        for check in checks:
            if check.failure_info is not None:
                failure = check.failure_info.failure
                reproduce = check.failure_info.code_sample[:500]
                yield f"{recorder.label}: {check.name}: {failure.title}: {failure.message}\n{reproduce}"


def _rows(counts: Mapping[tuple[str, str, int], int]) -> list[Row]:
    rows: list[Row] = []
    for operation, data in sorted({each[:2] for each in counts}, key=lambda key: (key[1] != "valid", key[0])):
        by_status = [counts[operation, data, status] for status in range(6)]
        rows.append(Row(operation, data, sum(by_status), by_status[2], by_status[4], by_status[5] + by_status[0]))
    return rows


def show(report: Report, console: Console) -> None:
    for rows in ([asdict(row) for row in report.rows], [report.summary()]):
        console.print(table_of(rows))
    for each in report.violations:
        console.print(f"VIOLATION {each}", markup=False, style="red")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=100, help="valid requests per operation (100)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the requests (1)")
    options = parser.parse_args()
    with fuzzed_service() as url:
        report = fuzz(url, options.examples, options.seed)
    show(report, wide_console())
    save_results("fuzz", report.summary())
    raise SystemExit(1 if report.violations or report.failed else 0)


if __name__ == "__main__":
    main()
