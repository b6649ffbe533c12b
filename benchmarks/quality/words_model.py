"""How much does each part of the training of minilm-words add?

    python -m benchmarks.quality.words_model --data "$SEMBLANCE_DATA" --wordnet /usr/share/wordnet --out runs/default

trains the adapter of `minilm-words` by its recipe, and again without one part at a time, evaluates every model on the
panel, and prints for each the mean difference to `minilm` and the set that loses most. It takes hours. What is complete
is not done again, so that the same call resumes an interrupted run; `--only` runs some of the variants.

The rows are the triplets of MultiNLI; the running texts are public-domain books and speeches, Wikipedia, and glosses of
WordNet, whose folder holds `data.noun`, `data.verb` and `data.adj` of WordNet 3.0, as in Debian's package wordnet-base.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.quality.trained_variants import differences, read_options, row, settings_of, show, train
from tests.support.project import PROJECT
from tests.support.results import save_results

RECIPE = PROJECT / "service" / "adapters" / "minilm_words" / "recipe.yaml"
TRIPLETS = ("nli/triplets.tsv", "nli/triplets_extra.tsv")
RUNNING_TEXT = ("gutenberg", "state_union", "inaugural", "wikitext2_valid", "wikitext2_test")
WORDNET = ("data.noun", "data.verb", "data.adj")
GLOSS_STEP = 4  # every fourth gloss, so that there are about as many as other running texts


@dataclass(frozen=True, slots=True)
class Variant:
    """A training run that differs from the recipe.

    Attributes:
        settings: that replace those of the recipe; None removes one.
        rows: file of the triplets.
        wordnet: whether glosses are among the running texts.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    rows: str = "multinli.tsv"
    wordnet: bool = True


VARIANTS: Mapping[str, Variant] = {
    "recipe": Variant(),
    "another seed": Variant({"seed": 1}),
    "all triplets": Variant(rows="triplets.tsv"),
    "with special tokens": Variant({"special_tokens": True}),
    "without kept vectors": Variant({"keep": None}),
    "without glosses": Variant(wordnet=False),
    "without aligned words": Variant({"align": None}),
    "the whole update": Variant({"low_rank": {"rank": 32, "alpha": 32}}),
}


def write_inputs(data: Path, wordnet: Path, out: Path) -> None:
    """Write the triplets, all and of MultiNLI alone, and the glosses."""
    glosses = [gloss for name in WORDNET for gloss in read_glosses(wordnet / name)]
    for name, lines in (
        ("triplets.tsv", read_triplets(data)),
        ("multinli.tsv", multinli_triplets(data)),
        ("glosses.txt", glosses[GLOSS_STEP - 1 :: GLOSS_STEP]),
    ):
        (out / name).write_text("".join(f"{line}\n" for line in lines), "utf-8")


def read_triplets(data: Path) -> list[str]:
    """Lines of both files of triplets, the header first."""
    first, (_, *more) = ((data / name).read_text("utf-8").splitlines() for name in TRIPLETS)
    return [*first, *more]


def multinli_triplets(data: Path) -> list[str]:
    """Those of MultiNLI, the header first."""
    header, *rows = read_triplets(data)
    return [header, *(row for row in rows if "mnli" in row.split("\t")[3])]


def read_glosses(file: Path) -> list[str]:
    """Lines such as `dog: a member of the genus Canis ...` of a file of WordNet's format `wndb`."""
    lines = [line.split(" | ", 1) for line in file.read_text("utf-8").splitlines() if not line.startswith(" ")]
    words = [synset.split(" ")[4].partition("(")[0].replace("_", " ") for synset, _ in lines]
    return [f"{word}: {gloss.strip()}" for word, (_, gloss) in zip(words, lines, strict=True)]


def train_variant(name: str, data: Path, out: Path) -> Path:
    """Train a variant unless it is complete."""
    variant = VARIANTS[name]
    settings = settings_of(RECIPE, variant.settings)
    keep = kept_texts(data, out, wordnet=variant.wordnet) if "keep" in settings else []
    return train(out / name.replace(" ", "_"), settings, data, out / variant.rows, keep)


def kept_texts(data: Path, out: Path, *, wordnet: bool = True) -> list[str]:
    """Options of `semblance train` for the texts whose vectors are kept."""
    files = [data / "text" / f"{each}.jsonl" for each in RUNNING_TEXT]
    files += [out / "glosses.txt"] if wordnet else []
    return [part for each in files for part in ("--keep", str(each))]


def main() -> None:
    """Run from the command line."""
    options = read_options(__doc__, list(VARIANTS))
    out: Path = options.out
    write_inputs(options.data, options.wordnet, out)
    rows = []
    for name in options.only:
        folder = train_variant(name, options.data, out)
        rows.append(row(name, differences(str(folder), folder, "minilm", options.sets, options.data)))
    show(rows, "minilm")
    save_results("words_model", rows)


if __name__ == "__main__":
    main()
