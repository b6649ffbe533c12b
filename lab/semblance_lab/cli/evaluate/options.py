"""Options of `semblance evaluate`, with the sets and the scorer that they name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeAlias

import typer
from semblance_client import Client

from semblance.models.errors import BadDataSet
from semblance.models.judgments.bootstrap import Resampling
from semblance.models.judgments.pairs import GradedPairs
from semblance.models.judgments.user_tables import renamed_columns
from semblance.models.protocols import Encoder, Track
from semblance.service.cli.toolbox.outputs import raise_on_sigterm
from semblance.service.model_loading.device import load_model
from semblance.service.settings import Settings, read_settings
from semblance_lab.cli.evaluate.data_sets import LAYOUTS, expand_sets, read_task
from semblance_lab.cli.evaluate.remote_scorer import RemoteScorer, split_mode
from semblance_lab.evaluation.metrics.deletion import deletion_task
from semblance_lab.evaluation.scorer import LocalScorer, Scorer
from semblance_lab.evaluation.tasks import Retrieval, Task

Model: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Model, as for `semblance serve` or only its source; with --url, a model served there.",
        show_default="the first of SEMBLANCE_MODELS, or the default of the service",
    ),
]
Against: TypeAlias = Annotated[
    str | None,
    typer.Option(help="Second model, as --model without --url: figures are compared with its own on one resampling."),
]
Measures: TypeAlias = Annotated[
    list[str],
    typer.Option(
        help="Measures, comma-separated; others are compared with the first, unless --against is given. A search "
        "of --url may have a mode: lexical:cosine, hybrid:rcmd1."
    ),
]
Sets: TypeAlias = Annotated[
    list[str],
    typer.Option(help="Data sets, comma-separated; KIND:PATH for your own file, panel for sets of many domains."),
]
ServiceUrl: TypeAlias = Annotated[str | None, typer.Option(help="Evaluate the service running at this address.")]
Reproduce: TypeAlias = Annotated[
    str | None, typer.Option(metavar="PAPER", help="Test the claims of a paper instead: its name, or all.")
]
Calibrate: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--calibrate",
        help="Print precision and recall by threshold, and how reliable probabilities are, for sets of labeled "
        "pairs instead.",
    ),
]
Conditions: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--conditions",
        help="Print how far the configured runtime and precision are from float32 (docs/performance.md).",
    ),
]
Typical: TypeAlias = Annotated[
    bool, typer.Option("--typical", help="Print typical scores of random, related and paraphrase pairs instead.")
]
Deletion: TypeAlias = Annotated[
    bool, typer.Option("--deletion", help="Also test explanations by deleting words of graded pairs.")
]
ResamplingSeed: TypeAlias = Annotated[int, typer.Option(min=0, help="Seed of the resampling.")]


@dataclass(frozen=True, slots=True)
class EvaluationOptions:
    """Options of `semblance evaluate`."""

    model: str | None
    url: str | None
    measures: Sequence[str]
    sets: Sequence[str]
    columns: Sequence[str]
    data: Path | None
    resampling: Resampling
    json: Path | None
    report: Path | None
    deletion: bool
    against: str | None = None
    same_from: float | None = None

    @property
    def baseline(self) -> str | None:
        """The measure that the others are compared with: the first of several."""
        return self.measures[0] if len(self.measures) > 1 else None

    def tasks(self) -> dict[str, Task]:
        """The data sets by name. Raises SemblanceError."""
        searched = [name for name in self.measures if split_mode(name)[0]]  # an unknown name fails before any work
        columns = renamed_columns(LAYOUTS, self.columns, self.sets)
        tasks = {name: read_task(name, self.data, columns) for name in expand_sets(self.sets)}
        if self.deletion:
            graded = {name: task for name, task in tasks.items() if isinstance(task, GradedPairs)}
            tasks |= {f"{name}_deletion": deletion_task(task) for name, task in graded.items()}
        if searched and (self.url is None or not all(isinstance(task, Retrieval) for task in tasks.values())):
            raise BadDataSet(f"{searched[0]} is a search: it needs --url, and sets of documents and queries only")
        return tasks

    @contextmanager
    def scorer(self, track: Track) -> Iterator[Scorer]:
        """The running service at `url`, or a model in this process."""
        if self.url is None:
            yield LocalScorer(self.encoder(read_settings()), track)
        else:
            raise_on_sigterm()  # so that the temporary collections of retrieval sets are deleted
            with Client(self.url) as client:
                yield RemoteScorer(client, self.model, track)

    def encoder(self, settings: Settings) -> Encoder:
        """The model in this process. Raises SemblanceError."""
        return load_model(self.model, settings)
