"""What `semblance origin corpus` does once its options are read: a folder a step, each skipped where it is done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

from rich.console import Console

from semblance.models.evaluation.contamination import normal_form
from semblance.models.files.digests import digest, file_sha256
from semblance.models.formats.transformer_folder import read_transformer
from semblance.models.origin.corpus.corpus import PARTS, Corpus
from semblance.models.origin.corpus.corpus_builder import build_corpus
from semblance.models.origin.corpus.documents import read_documents, sentences_of, text_files
from semblance.models.origin.corpus.screening import Screening, write_screening
from semblance.models.origin.corpus.token_table import TokenTable, write_token_table
from semblance.models.origin.corpus.vocabulary import Vocabulary
from semblance.models.origin.origin_folder import (
    CORPUS,
    SCREENING,
    TOKENS,
    VOCABULARY,
    add_about,
    is_made,
    read_about,
    read_step_about,
    write_step_about,
)
from semblance.models.origin.origin_settings import OriginSettings
from semblance.service.cli.console import say
from semblance.service.cli.evaluate.held_out_texts import held_out_texts
from semblance.service.cli.progress import bar
from semblance.service.cli.tables import show_counts
from semblance.service.cli.whole_folder import whole_folder
from semblance.service.model_loading.registry import source_of

Make: TypeAlias = Callable[[Path, Path], dict[str, Any]]
"""Fills a folder, with another for what is only needed on the way, and says what came of it."""


def make_corpus(
    texts: Sequence[Path],
    out: Path,
    settings: OriginSettings,
    held_out: tuple[Sequence[str], Path | None],
    console: Console,
) -> None:
    """Make what is not there yet, and print what became of the text.

    Args:
        texts: folders and files.
        out: the origin folder.
        settings: of all steps; they are written into `origin.json`.
        held_out: the sets whose texts are kept out, and the folder of data.
        console: for the bars.

    Raises:
        SemblanceError: the text will not do, or the folder was made of something else.
        OSError: the disk will not do.
    """
    steps = Steps(out, settings, console)
    out.mkdir(parents=True, exist_ok=True)
    steps.corpus(texts, *held_out)
    steps.vocabulary()
    steps.tokens()
    steps.screening()
    add_about(out, "settings", settings.model_dump(mode="json"))
    _show(read_about(out))
    say(console, f"{out}: ready for `semblance origin train`")


@dataclass(frozen=True, slots=True)
class Steps:
    """The origin folder, the settings, and where bars are drawn."""

    out: Path
    settings: OriginSettings
    console: Console

    def corpus(self, texts: Sequence[Path], exclude: Sequence[str], data: Path | None) -> None:
        """The sentences in order."""
        files = text_files(texts)
        asked = held_out_texts(exclude, data)
        # a text may be several sentences, none of which may be in the corpus
        evaluated = {normal_form(each) for text in asked for each in (text, *sentences_of(text))}
        settings = self.settings.corpus

        def make(folder: Path, scratch: Path) -> dict[str, Any]:
            total = sum(file.size for file in files)
            with bar(self.console, "reading", total, of_bytes=True) as advance:
                documents = read_documents(files, advance)
                return asdict(build_corpus(documents, evaluated, settings, folder, scratch))

        made_of = {
            "settings": settings.model_dump(mode="json"),
            "texts": digest(files=[(file.name, file.sha256) for file in files]),
            "evaluated": digest(texts=sorted(evaluated)),
        }
        self._step(CORPUS, made_of, make)

    def vocabulary(self) -> None:
        """The pieces of words, of the part that is trained on."""
        corpus, size = Corpus.open(self.out / CORPUS), self.settings.vocabulary.size
        model = self.settings.generation.model  # what starts from an encoder takes its pieces of words
        start = None if model is None else read_transformer(source_of(model))

        def make(folder: Path, _scratch: Path) -> dict[str, Any]:
            with bar(self.console, "learning pieces of words", None):
                vocabulary = Vocabulary.train(corpus, size) if start is None else Vocabulary.of(start.folder)
            vocabulary.save(folder)
            return {"size": vocabulary.size}

        self._step(
            VOCABULARY, {"corpus": corpus.digest, "size": size} if start is None else {"model": start.space}, make
        )

    def tokens(self) -> None:
        """The ids of every sentence."""
        corpora = [Corpus.open(self.out / CORPUS, part) for part in PARTS]
        most = self.settings.vocabulary.max_tokens

        def make(folder: Path, _scratch: Path) -> dict[str, Any]:
            vocabulary = Vocabulary.open(self.out / VOCABULARY)
            with bar(self.console, "tokenising", sum(map(len, corpora))) as advance:
                for corpus in corpora:
                    write_token_table(corpus, vocabulary, most, folder, advance)
            return {part: TokenTable.open(folder, part).tokens for part in PARTS}

        made_of = {
            "corpus": {corpus.part: corpus.digest for corpus in corpora},
            "vocabulary": file_sha256(self.out / VOCABULARY / "tokenizer.json"),
            "max_tokens": most,
        }
        self._step(TOKENS, made_of, make)

    def screening(self) -> None:
        """The chunks of every bigram."""
        corpus = Corpus.open(self.out / CORPUS)

        def make(folder: Path, _scratch: Path) -> dict[str, Any]:
            with bar(self.console, "counting bigrams", corpus.chunks) as advance:
                write_screening(corpus, folder, advance)
            made = Screening.open(folder)
            return {"chunks": corpus.chunks, "bigrams": made.bigrams, "postings": made.postings}

        self._step(SCREENING, {"corpus": corpus.digest}, make)

    def _step(self, name: str, made_of: Mapping[str, Any], make: Make) -> None:
        folder = self.out / name
        if not is_made(folder, made_of):
            with whole_folder(folder) as (made, scratch):
                write_step_about(made, made_of, make(made, scratch))
        add_about(self.out, name, read_step_about(folder))


def _show(about: Mapping[str, Any]) -> None:
    """One line a count, on standard output."""
    called = {part: part.replace("_", " ") for part in PARTS}
    parts = about[CORPUS]["parts"]
    sections = [
        about[CORPUS]["read"],
        *({f"{name}: {what}": count for what, count in parts[part].items()} for part, name in called.items()),
        {
            "pieces of the vocabulary": about[VOCABULARY]["size"],
            **{f"tokens, {name}": about[TOKENS][part] for part, name in called.items()},
            "bigrams": about[SCREENING]["bigrams"],
            "bigrams of chunks": about[SCREENING]["postings"],
        },
    ]
    show_counts("what became of the text", sections)
