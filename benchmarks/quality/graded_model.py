"""How much does each adapter in the sum of minilm-graded add?

    python -m benchmarks.quality.graded_model --data "$SEMBLANCE_DATA" --wordnet /usr/share/wordnet --out runs/graded

trains adapters of `minilm` on entailments, by two seeds, on graded captions, and on arguments with their key points,
adds them, evaluates that sum and others on the panel, and prints for each the mean difference to `minilm` and the set
that loses most. It takes two hours, the sum that is shipped half of one (`--only "as shipped"`). What is complete is
not done again, so that the same call resumes an interrupted run. The adapters of the sums are in `OUT/sums`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.quality.trained_variants import differences, read_options, row, settings_of, show, train
from benchmarks.quality.words_model import kept_texts, write_inputs
from semblance_lab.training.sentence_model import add_adapters
from tests.support.project import PROJECT
from tests.support.results import save_results

FOLDER = PROJECT / "service" / "adapters" / "minilm_graded"
RANK = 32
CAPTIONS, ARGUMENTS = "captions/cxc_sts_test_text.tsv", "argument/argkp2021.train.tsv"


@dataclass(frozen=True, slots=True)
class Part:
    """An adapter that is trained.

    Attributes:
        file: name of the file of its settings, without suffix.
        recipe: name of its recipe.
        rows: file of the rows, in the folder of data; None for the triplets of MultiNLI.
        seed: that replaces the one of the settings.
    """

    file: str
    recipe: str
    rows: str | None = None
    seed: int | None = None


PARTS: Mapping[str, Part] = {
    "entailments": Part("entailments", "clrcmd"),
    "entailments, seed 1": Part("entailments", "clrcmd", seed=1),
    "captions": Part("captions", "sbert_regression", CAPTIONS),
    "captions, seed 7": Part("captions", "sbert_regression", CAPTIONS, seed=7),
    "arguments": Part("arguments", "sbert_regression", ARGUMENTS),
    "arguments, seed 9": Part("arguments", "sbert_regression", ARGUMENTS, seed=9),
}
ENTAILMENTS = {"entailments": 0.325, "entailments, seed 1": 0.325}
SUMS: Mapping[str, Mapping[str, float]] = {
    "as shipped": {**ENTAILMENTS, "captions": 0.8, "arguments": 0.3},
    "other seeds of captions and arguments": {**ENTAILMENTS, "captions, seed 7": 0.8, "arguments, seed 9": 0.3},
    "one seed of entailments": {"entailments": 0.65, "captions": 0.8, "arguments": 0.3},
    "without entailments": {"captions": 0.8, "arguments": 0.3},
    "without captions": {**ENTAILMENTS, "arguments": 0.3},
    "without arguments": {**ENTAILMENTS, "captions": 0.8},
    "captions at 0.6": {**ENTAILMENTS, "captions": 0.6, "arguments": 0.3},
}
"""Name -> part -> its weight."""


def adapter(name: str, data: Path, out: Path) -> Path:
    """The adapter of a part; it is trained unless it is complete."""
    part = PARTS[name]
    settings = settings_of(FOLDER / f"{part.file}.yaml", {} if part.seed is None else {"seed": part.seed})
    rows = out / "multinli.tsv" if part.rows is None else data / part.rows
    folder = out / name.replace(", ", "_").replace(" ", "_")
    return train(folder, settings, data, rows, kept_texts(data, out), part.recipe) / "adapter"


def summed(name: str, data: Path, out: Path) -> Path:
    """The adapter of a sum."""
    folder = out / "sums" / name.replace(" ", "_")
    if not folder.exists():
        add_adapters({adapter(part, data, out): share for part, share in SUMS[name].items()}, RANK, folder)
    return folder


def main() -> None:
    """Run from the command line."""
    options = read_options(__doc__, list(SUMS))
    out: Path = options.out
    write_inputs(options.data, options.wordnet, out)
    rows = []
    for name in options.only:
        folder = summed(name, options.data, out)
        figures = differences(f"minilm?adapter={folder}", folder, "minilm", options.sets, options.data)
        rows.append(row(name, figures))
    show(rows, "minilm")
    save_results("graded_model", rows)


if __name__ == "__main__":
    main()
