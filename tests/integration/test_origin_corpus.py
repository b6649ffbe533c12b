"""`semblance origin corpus`, from the command line."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest
from typer.testing import CliRunner

from semblance.service.cli.main import app
from semblance_lab.origin.corpus.corpus import Corpus
from semblance_lab.origin.corpus.screening import Screening
from semblance_lab.origin.corpus.tokens import TokenTable, Vocabulary
from semblance_lab.origin.origin_folder import CORPUS_PARTS, read_about
from tests.lab.origin.tiny_corpus import write_tiny_corpus
from tests.support.command_line import semblance
from tests.support.held_command import held
from tests.support.text_files import write, write_json

STEPS = ("corpus", "vocabulary", "tokens", "screening")

# two reports by a person, beside those from templates
BRIDGE = """The old bridge over the Lenne was closed on Tuesday. An engineer had found cracks in two of its pillars.

Drivers must now go round by Altena, which takes twenty minutes longer. The baker on the market square says that half of
her customers stay away. "They won't come back before spring," she fears.

The town wants to decide in March whether to mend the bridge or to build a new one. A new one would cost nine million
euros. It is unknown yet who would pay for it."""
GARDEN = """My grandmother kept a garden behind the station. Every morning she carried water from the river in two tin
buckets. The beans grew higher than the fence, and the trains blew soot on them.

In autumn we pulled the beans off and dried them on the roof. She put aside the largest for the next year. I still sow
them, in pots on a balcony, four floors above a street."""


def files_of(out: Path) -> dict[str, bytes]:
    """Files of all steps, with their content."""
    return {str(file.relative_to(out)): file.read_bytes() for step in STEPS for file in (out / step).rglob("*")}


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_tiny_corpus(tmp_path_factory.mktemp("texts") / "texts", 24)
    write(folder / "local" / "bridge.txt", *BRIDGE.splitlines())
    write(folder / "local" / "garden.txt", *GARDEN.splitlines())
    write_json(
        folder / "scripts.jsonl",
        {"doc": "zh", "text": "今天天气很好。我们去公园散步。孩子们在湖边喂鸭子。"},
        {"doc": "hi", "text": "मैं घर जा रहा हूँ। रास्ते में बारिश होने लगी। मेरे पास छाता नहीं था।"},
        {"doc": "ar", "text": "ذهبت إلى السوق. ماذا اشتريت؟ اشتريت خبزا وزيتونا."},
        {"doc": "odd", "sentences": ["Yes.", "word " * 1_000, "No.", "..."]},
    )
    return folder


def test_the_steps_belong_together_and_run_once(texts: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "origin"
    config = write(tmp_path / "origin.yaml", "corpus: {held_out: 0.2}", "vocabulary: {size: 500, max_tokens: 16}")
    arguments = ("origin", "corpus", str(texts), "--out", str(out), "--config", str(config))
    ran = semblance(*arguments)
    assert ran.returncode == 0, ran.stderr
    assert f"{out}: ready for `semblance origin train`" in ran.stderr
    about = read_about(out)
    assert about["settings"]["vocabulary"] == {"size": 500, "max_tokens": 16}
    assert about["settings"]["corpus"]["held_out"] == 0.2
    assert about["corpus"]["read"]["documents read"] == 30
    vocabulary = Vocabulary.open(out / "vocabulary")
    assert vocabulary.size == about["vocabulary"]["size"] == 500
    for part in CORPUS_PARTS:
        corpus, table = Corpus.open(out / "corpus", part), TokenTable.open(out / "tokens", part)
        assert len(corpus) == len(table) == about["corpus"]["parts"][part]["sentences"]
        assert table.rows([2])[0].tolist() == vocabulary.encode([corpus.text(2)], 16)[0].tolist()
        assert table.tokens == about["tokens"][part]
        shown = part.replace("_", " ")
        assert re.search(rf"{shown}: sentences +│ +{len(corpus):,} │", ran.stdout)
        assert re.search(rf"tokens, {shown} +│ +{table.tokens:,} │", ran.stdout)
    corpus, screening = Corpus.open(out / "corpus"), Screening.open(out / "screening")
    assert corpus.chunk[100] in screening.chunks(corpus.text(100), 5)[0]
    assert sorted(path.name for path in out.iterdir()) == sorted([*STEPS, "origin.json", ".origin.json.lock"])

    before = {file: (out / file).stat().st_mtime_ns for file in files_of(out)}
    again = semblance(*arguments)
    assert again.returncode == 0, again.stderr
    assert again.stdout == ran.stdout
    assert {file: (out / file).stat().st_mtime_ns for file in files_of(out)} == before

    write(config, "corpus: {held_out: 0.2, seed: 5}")
    other = semblance(*arguments)
    assert other.returncode == 1
    assert f"{out}/corpus was made with another value of settings: choose another folder" in other.stderr


def test_evaluated_sentences_are_left_out(texts: Path, tmp_path: Path) -> None:
    evaluated = (
        "an engineer had found cracks in two of its pillars",
        "Thing? I still SOW them, in pots on a balcony, four floors above a street!",
    )
    rows = [f"a\tb\t{at}\t0\t{at}\t{one}\t{two}" for at, (one, two) in enumerate([evaluated, ("Nothing.", "Of this.")])]
    header = "genre\tfile\tyear\tid\tscore\tsentence1\tsentence2"
    write(tmp_path / "data" / "stsb" / "stsb.test.tsv", header, *rows)
    out = tmp_path / "origin"
    ran = semblance(
        *("origin", "corpus", str(texts), "--out", str(out)),
        *("--exclude", "evaluation", "--data", str(tmp_path / "data")),
    )
    assert ran.returncode == 0, ran.stderr
    assert read_about(out)["corpus"]["read"]["sentences that an evaluation asks for"] == 2
    left = [text for part in CORPUS_PARTS for text in Corpus.open(out / "corpus", part)]
    assert not [text for text in left if "cracks" in text or "balcony" in text]
    assert [text for text in left if "Altena" in text]


def test_the_same_command_resumes_an_interrupted_run(texts: Path, tmp_path: Path) -> None:
    out, clean = tmp_path / "out", tmp_path / "clean"
    arguments = ("origin", "corpus", str(texts), "--out", str(out))
    with held("semblance_lab.origin.corpus.tokens:Vocabulary.train", *arguments) as command:
        assert list(out.glob(".vocabulary-*"))
        command.interrupt(signal.SIGKILL)
        assert command.process.returncode != 0
    assert [path.name for path in out.iterdir() if path.name in STEPS] == ["corpus"]
    written = (out / "corpus" / "train.arrow").stat().st_mtime_ns
    ran = semblance(*arguments)
    assert ran.returncode == 0, ran.stderr
    assert (out / "corpus" / "train.arrow").stat().st_mtime_ns == written
    assert semblance("origin", "corpus", str(texts), "--out", str(clean)).returncode == 0
    assert files_of(out) == files_of(clean)


def test_errors_are_reported_and_no_step_is_half_done(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    good = str(write_tiny_corpus(tmp_path / "good", 6))
    latin = tmp_path / "latin.txt"
    latin.write_bytes("Weiß.\n".encode("latin-1"))
    three = "It rained. We stayed in. Then it stopped."
    config, typo = write(tmp_path / "bad.yaml", "corpus: ["), write(tmp_path / "typo.yaml", "corpus: {held_uot: 1}")
    mine = write(tmp_path / "mine" / "corpus" / "file", "mine").parents[1]
    for arguments, message in (
        ((str(tmp_path / "empty"),), f"{tmp_path / 'empty'} contains no text: names must end in .jsonl or .txt"),
        ((str(latin),), "latin.txt, line 1: this is not UTF-8"),
        ((str(write(tmp_path / "one.txt", three)),), "only one document, one.txt, has three sentences in order"),
        ((good, "--exclude", "evaluation"), "--exclude evaluation needs a folder of data: pass --data"),
        ((good, "--exclude", "nosuch"), "nosuch"),
        ((good, "--config", str(config)), "bad.yaml cannot be read as YAML"),
        ((good, "--config", str(typo)), "typo.yaml, for Origin: corpus.held_uot: there is no such setting"),
        ((good, "--out", str(mine)), f"{mine}/corpus already exists"),
    ):
        out = tmp_path / "out"
        ran = CliRunner().invoke(app, ["origin", "corpus", "--out", str(out), *arguments], env={"SEMBLANCE_DATA": ""})
        assert ran.exit_code == 1, ran.output
        assert message in ran.output.replace("\n", "")
        assert not out.exists() or not list(out.iterdir())
