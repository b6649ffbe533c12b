"""`semblance origin corpus`: prepare plain text for training."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer
from rich.console import Console

from semblance.models.errors import SemblanceError
from semblance.models.files.digests import digest, file_sha256
from semblance.models.formats.transformer_folder import read_transformer
from semblance.service.cli.toolbox.console import counter_bar, print_counts, print_line
from semblance.service.cli.toolbox.exits import exit_on
from semblance.service.cli.toolbox.options import Data, Exclude, split_lists
from semblance.service.cli.toolbox.outputs import atomic_folder
from semblance.service.model_loading.registry import source_of
from semblance_lab.cli.evaluate.data_sets import excluded_texts
from semblance_lab.cli.origin.options import read_settings_file
from semblance_lab.evaluation.contamination import held_out_forms
from semblance_lab.origin.origin_folder import (
    CORPUS,
    CORPUS_PARTS,
    SCREENING,
    TOKENS,
    VOCABULARY,
    add_about,
    read_about,
    read_step_about,
    step_is_done,
    write_step_about,
)
from semblance_lab.origin.origin_settings import OriginSettings


def corpus(
    texts: Annotated[
        list[Path], typer.Argument(exists=True, metavar="TEXT...", help="Folders, or *.jsonl and *.txt files.")
    ],
    out: Annotated[Path, typer.Option(help="Origin folder.", file_okay=False)],
    config: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="YAML file with settings, one section a step.")
    ] = None,
    exclude: Exclude = [],  # noqa: B006 - Typer copies it
    data: Data = None,
) -> None:
    """Build a corpus, vocabulary and bigram index from text.

    A *.txt file is a document with paragraphs between blank lines; a line of *.jsonl is a paragraph, {"doc": ...,
    "par": ..., "text": ...}, or has "sentences" instead of "text". Duplicates are dropped, and some documents are held
    out to test the models. Writes the folders corpus, vocabulary, tokens and screening, and origin.json; each folder
    appears when it is complete, and the same command resumes after an interruption.

    \b
    Examples:
      semblance origin corpus texts/ --out runs/origin
      semblance origin corpus "$SEMBLANCE_DATA/text" --exclude evaluation --data "$SEMBLANCE_DATA" --out runs/origin
      semblance origin corpus book.txt letters.jsonl --config origin.yaml --out runs/origin
    """  # noqa: D301 - click reads this backspace: keep the lines as they are
    with exit_on(SemblanceError, OSError, stopped="stopped; the same command resumes after the last complete folder"):
        make_corpus(texts, out, read_settings_file(config), (split_lists(exclude), data), Console(stderr=True))


FillFolder: TypeAlias = Callable[[Path, Path], dict[str, Any]]
"""Fills a folder, given another for temporary files, and returns counts for origin.json."""


def make_corpus(
    texts: Sequence[Path],
    out: Path,
    settings: OriginSettings,
    exclude: tuple[Sequence[str], Path | None],
    console: Console,
) -> None:
    """Run the steps that are not done yet, and print a summary.

    Args:
        texts: folders and files.
        out: the origin folder.
        settings: of all steps; recorded in `origin.json`.
        exclude: the sets whose texts are left out, and the folder of data.
        console: for progress bars.

    Raises:
        SemblanceError: the text is invalid, or the folder was built from other inputs.
        OSError: reading or writing failed.
    """
    steps = CorpusSteps(out, settings, console)
    out.mkdir(parents=True, exist_ok=True)
    steps.corpus(texts, *exclude)
    steps.vocabulary()
    steps.tokens()
    steps.screening()
    add_about(out, "settings", settings.model_dump(mode="json"))
    _print_summary(read_about(out))
    print_line(console, f"{out}: ready for `semblance origin train`")


@dataclass(frozen=True, slots=True)
class CorpusSteps:
    """Steps of an origin folder; each fills a subfolder and is skipped if that is up to date."""

    out: Path
    settings: OriginSettings
    console: Console

    def corpus(self, texts: Sequence[Path], exclude: Sequence[str], data: Path | None) -> None:
        """Split the text into sentences, without duplicates and excluded texts."""
        from semblance_lab.origin.corpus.corpus_builder import build_corpus  # noqa: PLC0415 - imports pyarrow, which --help does not need
        from semblance_lab.origin.corpus.documents import read_documents, split_sentences, text_files  # noqa: PLC0415 - likewise

        files = text_files(texts)
        excluded = excluded_texts(exclude, data)
        # an excluded text may hold several sentences, none of which may be in the corpus
        sentences = ((name, each) for name, text in excluded for each in (text, *split_sentences(text)))
        evaluated = set(held_out_forms(sentences))
        settings = self.settings.corpus

        def fill(folder: Path, scratch: Path) -> dict[str, Any]:
            total = sum(file.size for file in files)
            with counter_bar(self.console, "reading", total, of_bytes=True) as advance:
                documents = read_documents(files, advance)
                return asdict(build_corpus(documents, evaluated, settings, folder, scratch))

        inputs = {
            "settings": settings.model_dump(mode="json"),
            "texts": digest(files=[(file.name, file.sha256) for file in files]),
            "evaluated": digest(texts=sorted(evaluated)),
        }
        self._step(CORPUS, inputs, fill)

    def vocabulary(self) -> None:
        """Learn the vocabulary from the training part, or copy that of the encoder to start from."""
        from semblance_lab.origin.corpus.corpus import Corpus  # noqa: PLC0415 - imports pyarrow, which --help does not need
        from semblance_lab.origin.corpus.tokens import Vocabulary  # noqa: PLC0415 - imports torch, which takes seconds

        corpus, size = Corpus.open(self.out / CORPUS), self.settings.vocabulary.size
        model = self.settings.generation.model
        start = None if model is None else read_transformer(source_of(model))

        def fill(folder: Path, _scratch: Path) -> dict[str, Any]:
            with counter_bar(self.console, "learning the vocabulary", None):
                vocabulary = Vocabulary.train(corpus, size) if start is None else Vocabulary.of(start.folder)
            vocabulary.save(folder)
            return {"size": vocabulary.size}

        self._step(
            VOCABULARY, {"corpus": corpus.digest, "size": size} if start is None else {"model": start.space}, fill
        )

    def tokens(self) -> None:
        """Tokenize every sentence."""
        from semblance_lab.origin.corpus.corpus import Corpus  # noqa: PLC0415 - imports pyarrow, which --help does not need
        from semblance_lab.origin.corpus.tokens import TokenTable, Vocabulary, write_token_table  # noqa: PLC0415 - imports torch, which takes seconds

        corpora = [Corpus.open(self.out / CORPUS, part) for part in CORPUS_PARTS]
        max_tokens = self.settings.vocabulary.max_tokens

        def fill(folder: Path, _scratch: Path) -> dict[str, Any]:
            vocabulary = Vocabulary.open(self.out / VOCABULARY)
            with counter_bar(self.console, "tokenizing", sum(map(len, corpora))) as advance:
                for corpus in corpora:
                    write_token_table(corpus, vocabulary, max_tokens, folder, advance)
            return {part: TokenTable.open(folder, part).tokens for part in CORPUS_PARTS}

        inputs = {
            "corpus": {corpus.part: corpus.digest for corpus in corpora},
            "vocabulary": file_sha256(self.out / VOCABULARY / "tokenizer.json"),
            "max_tokens": max_tokens,
        }
        self._step(TOKENS, inputs, fill)

    def screening(self) -> None:
        """Index the chunks of every bigram."""
        from semblance_lab.origin.corpus.corpus import Corpus  # noqa: PLC0415 - imports pyarrow, which --help does not need
        from semblance_lab.origin.corpus.screening import Screening, write_screening  # noqa: PLC0415 - imports scikit-learn

        corpus = Corpus.open(self.out / CORPUS)

        def fill(folder: Path, _scratch: Path) -> dict[str, Any]:
            with counter_bar(self.console, "counting bigrams", corpus.chunks) as advance:
                write_screening(corpus, folder, advance)
            screening = Screening.open(folder)
            return {"chunks": corpus.chunks, "bigrams": screening.bigrams, "postings": screening.postings}

        self._step(SCREENING, {"corpus": corpus.digest}, fill)

    def _step(self, name: str, inputs: Mapping[str, Any], fill: FillFolder) -> None:
        folder = self.out / name
        if not step_is_done(folder, inputs):
            with atomic_folder(folder) as (result, scratch):
                write_step_about(result, inputs, fill(result, scratch))
        add_about(self.out, name, read_step_about(folder))


def _print_summary(about: Mapping[str, Any]) -> None:
    """Print one row a count."""
    titles = {part: part.replace("_", " ") for part in CORPUS_PARTS}
    parts = about[CORPUS]["parts"]
    sections = [
        about[CORPUS]["read"],
        *({f"{name}: {what}": count for what, count in parts[part].items()} for part, name in titles.items()),
        {
            "vocabulary size": about[VOCABULARY]["size"],
            **{f"tokens, {name}": about[TOKENS][part] for part, name in titles.items()},
            "bigrams": about[SCREENING]["bigrams"],
            "postings of bigrams": about[SCREENING]["postings"],
        },
    ]
    print_counts("summary of the text", sections)
