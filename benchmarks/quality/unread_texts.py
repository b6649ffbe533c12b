"""Which texts get the warning that the model cannot read them?

    python -m benchmarks.quality.unread_texts --data "$SEMBLANCE_DATA"

Texts in languages that a model does not read should get it, and English, code, names and numbers should not. The texts
of other languages are the translations of Django's messages; those in English are their originals, and sentences of
public benchmarks; code is from Python's own library; names and numbers are generated. 200 of each, of those with at
least six letters, or all if there are fewer. `unrelated` is the median cosine of random pairs of them. It fails if less
than 90 % of the texts in a foreign script are warned about, or more than 2 % of English sentences.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from io import StringIO
from pathlib import Path
from statistics import fmean, median

import numpy as np
from babel import Locale
from babel.messages.pofile import read_po
from faker import Faker
from rich.console import Console
from rich.table import Table

from semblance.models.embeddings import unit_rows
from semblance.models.judgments.pairs import GradedPairs, LabeledPairs
from semblance.models.protocols import Encoder
from semblance.models.runtime import Compute
from semblance.service.model_loading.registry import read_source
from semblance.service.usecases.text_embedder import UNREAD_SHARE
from semblance_lab.evaluation.datasets import data_set
from tests.support.results import save_results
from tests.support.wide_console import wide_console

DEFAULT = "minilm-graded"  # the other built-in models have the same tokenizer
COUNT = 200
MIN_LETTERS = 6
MIN_SOURCE = 25  # characters of an English message; shorter ones are labels, such as names of months
FOREIGN_SCRIPTS = ("ar", "bg", "bn", "el", "fa", "he", "hi", "ja", "ko", "ru", "th", "uk", "zh_Hans")
FOREIGN_LATIN = ("cs", "de", "es", "fi", "fr", "hu", "id", "it", "nl", "pl", "pt", "sv", "tr", "vi")
ENGLISH_SETS = ("stsb_dev", "pit_dev", "qqp_dev", "msrp_train")
NAME_LOCALES = ("en_US", "en_IN", "de_DE", "es_MX", "fr_FR", "pl_PL", "tr_TR", "id_ID")
MAX_ENGLISH = 0.02
MIN_FOREIGN = 0.9

_PLACEHOLDERS = re.compile(r"%\(\w+\)[sd]|%[sdr]|\{[^}]*\}|<[^>]+>|&\w+;|https?://\S+")


@dataclass(frozen=True, slots=True)
class Row:
    """Texts of one kind: share with a warning, unread letters (median), cosine of random pairs (median)."""

    model: str
    kind: str
    texts: int
    warned: float
    unread: float
    unrelated: float


def translations(language: str) -> Iterator[tuple[str, str]]:
    """English message and translation, of all of Django's sentences in a language."""
    package = importlib.util.find_spec("django")
    if package is None or package.origin is None:
        raise SystemExit("this needs the extra bench: scripts/install lab,bench")
    for file in sorted(Path(package.origin).parent.rglob(f"locale/{language}/LC_MESSAGES/django.po")):
        with file.open("rb") as stream, redirect_stdout(StringIO()):  # its warnings of untranslated plurals
            for message in read_po(stream, locale=language, ignore_obsolete=True):
                if message.id and message.string and not message.fuzzy:
                    source, target = (
                        each if isinstance(each, str) else each[-1] for each in (message.id, message.string)
                    )
                    if len(source) >= MIN_SOURCE and target:
                        yield _plain(source), _plain(target)


def kinds(data: Path) -> Iterator[tuple[str, list[str]]]:
    """All kinds of texts by name."""
    for language in (*FOREIGN_SCRIPTS, *FOREIGN_LATIN):
        yield _display(language), [target for _, target in translations(language)]
    yield "English: Django", [source for source, _ in translations("de")]
    for name in ENGLISH_SETS:
        yield f"English: {name}", _sentences(name, data)
    yield "code", list(_code())
    yield "names", _generated(NAME_LOCALES, ("name", "company", "city"))
    yield (
        "numbers",
        _generated(("en_US", "de_DE"), ("phone_number", "iban", "date", "pricetag", "ean13", "license_plate")),
    )


def row(encoder: Encoder, kind: str, texts: Iterable[str]) -> Row:
    """Judge some texts of a kind, the same ones on every call."""
    suitable = sorted({text for text in texts if kind == "numbers" or sum(map(str.isalpha, text)) >= MIN_LETTERS})
    chosen = random.Random(kind).sample(suitable, min(COUNT, len(suitable)))
    tokenized = encoder.tokenize(chosen, "document", "END")
    shares = [text.unread for text in tokenized]
    vectors = unit_rows(np.stack([each.pooled() for each in encoder.encode(tokenized, "pooled")]))
    cosines = (vectors[1:] * vectors[:-1]).sum(axis=1)
    warned = fmean(share >= UNREAD_SHARE for share in shares)
    return Row(encoder.name, kind, len(shares), warned, median(shares), float(np.median(cosines)))


def show(results: Sequence[Row], console: Console) -> None:
    """Print a row for each kind."""
    table = Table(
        "texts",
        "count",
        "warned",
        "unread letters, median",
        "unrelated pairs",
        title=f"{results[0].model}: texts with a warning",
    )
    for each in results:
        table.add_row(each.kind, str(each.texts), f"{each.warned:.1%}", f"{each.unread:.0%}", f"{each.unrelated:.2f}")
    console.print(table)


def _display(language: str) -> str:
    return Locale.parse(language).get_display_name("en") or language


def _plain(text: str) -> str:
    return " ".join(_PLACEHOLDERS.sub(" ", text).replace('"', " ").split())


def _sentences(name: str, data: Path) -> list[str]:
    """Sentences of a benchmark of pairs."""
    known = data_set(name)
    pairs = known.read(data / known.files[0])
    assert isinstance(pairs, GradedPairs | LabeledPairs), f"{name} has no pairs"
    return [*pairs.left, *pairs.right]


def _code() -> Iterator[str]:
    for file in sorted(Path(json.__file__).parents[1].glob("*/*.py")):
        if "site-packages" not in file.parts:
            yield from (line.strip() for line in file.read_text("utf-8", errors="replace").splitlines())


def _generated(locales: Sequence[str], kinds_of_text: Sequence[str]) -> list[str]:
    fakers: Mapping[str, Faker] = {locale: Faker(locale) for locale in locales}
    for seed, faker in enumerate(fakers.values()):
        faker.seed_instance(seed)
    return [str(faker.format(kind)) for faker in fakers.values() for kind in kinds_of_text for _ in range(COUNT)]


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with benchmarks, as for semblance evaluate")
    parser.add_argument("--models", nargs="+", default=[DEFAULT], help="built-in names, or folders")
    options = parser.parse_args()
    results: list[Row] = []
    texts = dict(kinds(options.data))
    for model in options.models:
        encoder = read_source(model).load(model, Compute())
        of_model = [row(encoder, kind, each) for kind, each in texts.items()]
        show(of_model, wide_console())
        results += of_model
    save_results("unread_texts", [asdict(each) for each in results])
    foreign = {_display(language) for language in FOREIGN_SCRIPTS}
    for each in results:
        if each.kind in foreign and each.warned < MIN_FOREIGN:
            raise SystemExit(f"{each.model} warns of only {each.warned:.1%} of the texts in {each.kind}")
        if each.kind.startswith("English") and each.warned > MAX_ENGLISH:
            raise SystemExit(f"{each.model} warns of {each.warned:.1%} of {each.kind}")


if __name__ == "__main__":
    main()
