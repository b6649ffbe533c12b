"""Every command that the pages show is run, or at least parsed by the real command line; tests/bare has the README's.

`COMMANDS` says for each command of `semblance` which of the two, and why if it is only parsed; `SCRIPTS` and `PROGRAMS`
say it for the others. A command that is in none of them fails the tests: add it, with a small file in `workspace` if it
reads one. curl is always run, against the service of the tests.
"""

from __future__ import annotations

import inspect
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from itertools import pairwise, permutations
from pathlib import Path
from tempfile import mkdtemp

import httpx2
import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from semblance.service.cli.main import LazyGroup, SemblanceVerbs, app
from tests.support.command_line import SETTINGS
from tests.support.command_line import semblance as run_semblance
from tests.support.page_commands import (
    GROUPS,
    assert_shown,
    blocks,
    commands,
    inner_semblance,
    json_lines,
    modules_of,
    program,
    score_by_each,
    serving,
    settings_before,
    verb_of,
)
from tests.support.project import PROJECT
from tests.support.running_service import SEMBLANCE, running_service
from tests.support.small_model import make_small, write_glove
from tests.support.text_files import write, write_json, write_table

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A service of these commands' own, as some store documents."""
    with running_service(sample="1") as address:
        yield address


PAGES = [
    PROJECT / "CONTRIBUTING.md",
    *sorted((PROJECT / "service" / "adapters").glob("*/README.md")),
    *sorted((PROJECT / "docs").rglob("*.md")),
]


@dataclass(frozen=True)
class Run:
    """The command is run; `service`: with the address of the service of the tests; `answer`: to a question it asks."""

    service: bool = False
    answer: str = ""


@dataclass(frozen=True)
class Serve:
    """The command starts a service, which answers by each of its models."""


@dataclass(frozen=True)
class Parse:
    """The command is parsed, its verb not called, for this reason."""

    because: str


TRAINING = Parse("training takes minutes; tests/integration/test_train.py trains by every recipe")
TRAINED = Parse("it needs a model of a training; test_evaluate.py compares models")
ORIGIN = Parse("it takes minutes; tests/integration/test_origin_chain.py runs the whole chain on a small corpus")
DEPLOYED = Parse("it needs the deployment; tests/integration/test_backup.py runs these verbs")
TWEETS = Parse("it needs an archive of tweets; tests/integration/test_pairs.py makes one and runs both")
BATCHES = Parse("it starts Ray; tests/integration/test_batches.py runs both verbs by it")
MULTILINGUAL = Parse("it is not always installed; tests/service/model_loading writes its float32 folder")
MPNET = Parse("it is not always installed; tests/models/encoders/test_mpnet.py compares its vectors at night")
PULLED = Parse("it needs a model hub; tests/integration/test_pull.py has one on loopback")
SAMPLE = Parse("other pages need the sample; tests/integration/test_daily_verbs.py deletes documents and a collection")
DAILY = Parse("tests/integration/test_daily_verbs.py runs it, and compares what it prints")
PAPERS = Parse("it takes minutes; tests/integration/test_evaluate.py runs such commands on small files")
FIGURES = Parse("it takes minutes; tests/integration/test_docs.py compares the figures that it prints with the page")

COMMANDS: Mapping[str, Run | Serve | Parse] = {
    # documents
    "semblance index my-documents.csv --collection mine": Run(service=True),
    "semblance index tickets.csv --collection tickets --id-field number --text-field subject --text-field body": Run(
        service=True
    ),
    "semblance index notes/ --collection notes": Run(service=True),
    "semblance index reembed NAME --model OTHER": Run(service=True),
    "semblance index reembed NAME --passages auto": Run(service=True),
    "semblance index reembed": Parse("a list of verbs, without arguments"),
    "semblance index verify": Run(),
    "semblance index rebuild": Run(),
    "semblance embed my-documents.csv vectors/": Run(),
    "semblance index vectors/ --collection loaded --vectors": Run(service=True),
    "semblance embed texts/ vectors/ --engine ray": BATCHES,
    "semblance harvest runs/origin --out runs/harvest --pairs 200000 --size 500 --shards 16 --engine ray": BATCHES,
    "semblance duplicates default --min-score 0.66 --explain": Run(service=True),
    "semblance backup /backups/monday": Run(),
    "semblance restore /backups/monday": Run(answer="y"),
    "semblance restore /backups/monday --home /backups/checked": Run(),
    "semblance index verify --home /backups/checked": Run(),
    "semblance snapshot /seeds/replica": Run(),
    # a day's work
    """semblance search "my parcel never came" -k 2 --filter '{"category": "shipping"}'""": DAILY,
    'semblance compare "my parcel never came" "my package has not arrived" "It rains."': DAILY,
    'semblance explain "my parcel never came" "my package has not arrived"': DAILY,
    'semblance same "How do I turn on dark mode?" "How do I turn off dark mode?"': DAILY,
    "semblance collections": Run(service=True),
    "semblance show default": Run(service=True),
    "semblance show default shipping-001": Run(service=True),
    "semblance delete default shipping-001": SAMPLE,
    "semblance delete default": SAMPLE,
    # serving
    "semblance serve": Serve(),
    "semblance serve --host 0.0.0.0": Serve(),
    "semblance serve --model minilm-graded --model mine=/models/mine --model 'max=minilm?pooling=max'": Serve(),
    "semblance serve --model 'tuned=minilm?adapter=runs/x/adapter'": Serve(),
    "semblance serve --model 'glove=/vectors/glove.txt?weighting=sif&frequencies=/vectors/enwiki.tsv'": Serve(),
    "semblance serve --model 'white=minilm?projection=white.safetensors'": Serve(),
    "semblance serve --model stsb=runs/stsb": Serve(),
    "semblance serve --model surrogate=runs/surrogate": Serve(),
    "semblance serve --model multilingual": MULTILINGUAL,
    "semblance serve --model mpnet": MPNET,
    "semblance serve --model mpnet-clrcmd": MPNET,
    "semblance evaluate --sets panel --model mpnet --against minilm-words --measure cosine,rcmd_words": MPNET,
    "semblance export --model multilingual --out e5-small": MULTILINGUAL,
    "semblance pull BAAI/bge-small-en-v1.5": PULLED,
    "semblance serve --model BAAI/bge-small-en-v1.5": PULLED,
    "semblance evaluate --sets stsb_dev,stsb_de_dev,stsb_en_de_dev --model multilingual --against minilm-words "
    "--measure cosine,rcmd,rcmd_words": FIGURES,
    "semblance models --model minilm-graded --model mine=/models/mine": Run(),
    "semblance project --model minilm --projection whitening --texts corpus.txt --out white.safetensors": Run(),
    "semblance key new ci --scope read --scope write": Run(),
    "semblance key new acme --scope read --collection 'faq-*' --filter tenant=acme --id-prefix acme-": Run(),
    "semblance mcp --url http://127.0.0.1:8000": Parse(
        "it reads standard input; tests/integration/test_mcp.py runs it"
    ),
    'semblance calibrate labels:pairs.csv --name "support questions"': Run(),
    'semblance calibrate labels:pairs.csv --same --allowed 0.01 --name "support questions"': Run(),
    "semblance key new ops --scope read --scope write --scope admin": Run(),
    # evaluation
    "semblance evaluate --sets labels:questions.csv "
    "--columns sentence1=question1,sentence2=question2,label=is_duplicate": Run(),
    "semblance evaluate --sets labels:questions.csv "
    "--columns sentence1=question1,sentence2=question2,label=is_duplicate --measure cosine,rcmd,rcmd_words": Run(),
    "semblance evaluate --sets ranking:OUT/ranking/threads.jsonl": Run(),
    "semblance evaluate --model minilm": FIGURES,
    "semblance evaluate --url http://127.0.0.1:8000 "
    "--sets adi,cisi,cranfield,medline,wikiqa_dev_search,nfcorpus_dev "
    "--measure cosine,hybrid:cosine,hybrid:rcmd,hybrid:rcmd1,hybrid:rcmd1_words,hybrid:rcmd_words": PAPERS,
    "semblance evaluate --model runs/stsb --against minilm --sets stsb": TRAINED,
    "semblance evaluate --model runs/stsb --against minilm --measure cosine --sets stsb": TRAINED,
    "semblance evaluate --model runs/conversations --against minilm --measure cosine "
    "--sets ranking:runs/threads/ranking/threads.jsonl": TRAINED,
    "semblance evaluate --model mpnet-clrcmd --against mpnet --measure rcmd,cosine": PAPERS,
    "semblance evaluate --model minilm-clrcmd --against minilm --measure rcmd,cosine": PAPERS,
    'semblance evaluate --model glove="$SEMBLANCE_DATA/vectors/glove6B_50d_5k.npz" --measure cosine,dynamax_jaccard '
    "--sets sts12,sts13,sts14,sts15,sts16": PAPERS,
    "semblance evaluate --reproduce dynamax": PAPERS,
    "semblance evaluate --sets panel --model runs/mine --against minilm --measure cosine,rcmd": TRAINED,
    "semblance evaluate --url http://127.0.0.1:8000 --sets xquad_de,xquad_en_de "
    "--measure cosine,lexical:cosine,hybrid:cosine": FIGURES,
    "semblance evaluate --sets panel --model minilm-words --measure cosine,rcmd_words --draws 100": FIGURES,
    "semblance evaluate --sets panel --model multilingual --against minilm-words --measure cosine,rcmd_words "
    "--draws 200": FIGURES,
    "semblance evaluate --model runs/surrogate --against runs/static --sets pairs:runs/pairs/test.tsv": TRAINED,
    "semblance evaluate --sets dq,cq,dr,cr --data pairs": TWEETS,
    # training
    'semblance train sbert_regression --rows "$SEMBLANCE_DATA/stsb/stsb.train.tsv" --out runs/stsb': TRAINING,
    "semblance train surrogate --rows runs/pairs/train.tsv --config surrogate.yaml --out runs/surrogate": TRAINING,
    "semblance train sbert_regression --rows train.csv --config own.yaml --out runs/own": TRAINING,
    "semblance evaluate --model runs/own --against minilm --sets pairs:test.csv "
    "--columns sentence1=asked,sentence2=similar,score=grade": TRAINED,
    "semblance train clrcmd --rows triplets.tsv --out runs/clrcmd": TRAINING,
    "semblance train clrcmd --rows triplets.tsv --keep books.jsonl --keep news.txt --config kept.yaml "
    "--out runs/kept": TRAINING,
    "semblance train distillation --rows translations.tsv --config taught.yaml --out runs/taught": TRAINING,
    'semblance train clrcmd --rows "$SEMBLANCE_DATA/nli/triplets.tsv" --exclude evaluation '
    "--config service/adapters/minilm_clrcmd/recipe.yaml --out runs/minilm-clrcmd": TRAINING,
    'semblance train clrcmd --rows "$SEMBLANCE_DATA/nli/triplets.tsv" --exclude evaluation '
    "--config service/adapters/mpnet_clrcmd/recipe.yaml --out runs/mpnet-clrcmd": TRAINING,
    "semblance pairs tweets archive/ --out pairs": TWEETS,
    "semblance pairs threads DATA/twitter/spotifycares_threads.tsv --out OUT --held-out 500": FIGURES,
    'semblance pairs threads "$SEMBLANCE_DATA/twitter/spotifycares_threads.tsv" --out runs/threads '
    "--held-out 500": FIGURES,
    "semblance train twitter4sse --rows runs/threads/threads.tsv --out runs/conversations": TRAINING,
    "semblance pairs harvest runs/harvest --out runs/pairs": ORIGIN,
    "semblance pairs harvest runs/harvest --out runs/pairs --form cosine": ORIGIN,
    "semblance harvest runs/origin --out runs/harvest --pairs 5000": ORIGIN,
    "semblance origin corpus texts/ --out runs/origin --exclude evaluation": ORIGIN,
    "semblance origin train runs/origin": ORIGIN,
    "semblance origin evaluate runs/origin --sets stsb_dev --pairs 200": ORIGIN,
    'semblance origin explain runs/origin "A man plays a guitar." "Someone plays an instrument." '
    "--form centred": ORIGIN,
    "semblance origin start runs/origin --by static --out runs/static": ORIGIN,
    # deployments
    "semblance snapshot /data/seed": DEPLOYED,
    "semblance backup /data/backup": DEPLOYED,
    "semblance restore /data/backup": DEPLOYED,
    "semblance snapshot /var/lib/semblance/8003 --home /var/lib/semblance/8001": DEPLOYED,
    'semblance backup "/var/backups/semblance-$(date +%F)"': DEPLOYED,
    "semblance restore /var/backups/semblance-2026-01-31": DEPLOYED,
    "semblance restore /var/backups/semblance/2026-01-31 --home /var/lib/semblance/8000": DEPLOYED,
}

SCRIPTS: Mapping[str, str] = {
    "scripts/install": "tests/end_to_end/test_scripts.py runs it",
    "scripts/packages": "scripts/install calls it",
    "scripts/serve": "tests/bare runs it",
    "scripts/test": "it runs these tests",
    "scripts/check": "it runs the unit tests",
    "scripts/lint": "every run of the tests begins with it",
    "scripts/bench": "benchmarks take minutes; their modules must exist",
    "scripts/soak": "it takes half an hour",
    "scripts/nightly": "it takes hours; tests/soak/test_nightly.py runs it in miniature",
    "scripts/defects": "it takes hours; tests/defects checks that each edit still applies",
    "scripts/build": "tests/bare installs its wheels",
    "scripts/image": "it needs buildah, and minutes; tests/deploy/test_image.py runs the steps of the Dockerfile",
    "scripts/sbom": "tests/deploy/test_sbom.py runs it",
    "scripts/docs": "tests/integration/test_docs.py compares what it writes",
}

PROGRAMS: Mapping[str, str] = {
    **dict.fromkeys(("docker", "tar", "deploy/write-env.sh"), "of compose: tests/deploy checks files and options"),
    "cosign": "of a release: tests/deploy checks the workflow that signs",
    **dict.fromkeys(("helm", "kubectl", "psql"), "of a cluster: tests/deploy checks the manifests"),
    **dict.fromkeys(
        ("apt-get", "python3", "ln", "useradd", "install", "read", "runuser", "systemctl", "set", "chown", "for"),
        "of an installation as root: tests/deploy checks the units",
    ),
    **dict.fromkeys(("pip", "uvx", "/opt/semblance-0.1.0/bin/python"), "it installs; the extras must exist"),
    "python": "a benchmark that trains; tests/benchmarks/test_words_model.py checks its inputs",
    "npx": "it downloads; test_generated_client.py makes a client of the same document",
    "torchrun": "it trains on several GPUs; test_train_processes.py trains in two processes",
}

WORDS = ("a", "cat", "sleeps", "on", "the", "red", "sofa", "today", "house")  # 504 texts of three: more than dimensions
PLACEHOLDERS: Mapping[str, str] = {  # absolute paths and names of the pages -> what the tests have
    "/models/": "models/",
    "/vectors/": "vectors/",
    "/backups/": "backups/",
    "/seeds/": "seeds/",
    "/data/": "data/",
    "/var/": "var/",
    "$SEMBLANCE_DATA": "benchmark",
    "DATA/": "benchmark/",
    "DATA": "benchmark",
    "NAME": "rolled",
    "OTHER": "minilm",
    "OUT": "out",
    "service/adapters/": f"{PROJECT}/service/adapters/",
}
PARSED_ONLY = (  # files that only need to exist
    "books.jsonl",
    "news.txt",
    "train.csv",
    "own.yaml",
    "kept.yaml",
    "translations.tsv",
    "taught.yaml",
    "runs/pairs/train.tsv",
    "runs/threads/threads.tsv",
    "surrogate.yaml",
    "triplets.tsv",
    "benchmark/stsb/stsb.train.tsv",
    "benchmark/nli/triplets.tsv",
    "benchmark/twitter/spotifycares_threads.tsv",
    "archive/tweets.jsonl",
    "texts/a.txt",
    "runs/origin/corpus",
    "runs/harvest/shard",
    "data/backup/manifest.json",
    "var/lib/semblance/8001/documents.sqlite",
    "var/backups/semblance-2026-01-31/manifest.json",
)


ALL = [(page.relative_to(PROJECT).as_posix(), command) for page in PAGES for command in commands(page)]
BY_PAGE = {page: [command for other, command in ALL if other == page] for page, _ in ALL}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of a small network."""
    return make_small(tmp_path_factory.mktemp("models") / "small")


@pytest.fixture
def workspace(tmp_path: Path, models: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with small files under the names that the pages use, which is the working directory."""
    monkeypatch.chdir(tmp_path)
    for name in PARSED_ONLY:
        write(tmp_path / name)
    for name in ("models/mine", "runs/stsb", "runs/surrogate", "runs/static"):
        shutil.copytree(models, tmp_path / name)
    shutil.copytree(PROJECT / "service" / "adapters" / "minilm_clrcmd", tmp_path / "runs" / "x" / "adapter")
    (tmp_path / "backups").mkdir()
    write(tmp_path / "vectors" / "glove.txt")
    write_glove(tmp_path / "vectors" / "glove.txt", WORDS)
    write_table(tmp_path / "vectors" / "enwiki.tsv", [(word, i + 1) for i, word in enumerate(WORDS)])
    write(tmp_path / "my-documents.csv", "text,year", "A cat sleeps.,2024", "The kitten naps.,2025")
    write(tmp_path / "notes" / "a.md", "# Lamps", "They flicker.")
    write(tmp_path / "tickets.csv", "number,subject,body", "1,Lamp,It flickers.")
    write(tmp_path / "corpus.txt", *(" ".join(three) for three in permutations(WORDS, 3)))
    write(tmp_path / "questions.csv", "question1,question2,is_duplicate", "a cat,the cat,1", "a house,today,0")
    labeled = [(f"{a} {b}", f"{b} {c}", int(a == c)) for a in WORDS[:8] for b in WORDS[:8] for c in WORDS[:8]]
    write(tmp_path / "pairs.csv", "sentence1,sentence2,label", *(",".join(map(str, row)) for row in labeled))
    ranking = {"query": "a cat", "candidates": ["the cat", "old"], "relevance": [1, 0]}
    write_json(tmp_path / "out" / "ranking" / "threads.jsonl", ranking, ranking)
    return tmp_path


def in_workspace(command: str) -> list[str]:
    """The words of a command of semblance, with placeholders replaced."""
    for placeholder, value in PLACEHOLDERS.items():
        command = re.sub(rf"(?<![\w/-]){re.escape(placeholder)}", value, command)
    return shlex.split(command)[1:]


def test_every_command_of_the_pages_is_in_a_table() -> None:
    unknown = []
    for page, command in ALL:
        semblance = inner_semblance(command)
        known = program(command) in (*PROGRAMS, *SCRIPTS, "curl") if semblance is None else semblance in COMMANDS
        if not known:
            unknown.append(f"{page}: {semblance or command}")
    assert unknown == []


def test_the_table_holds_no_command_that_left_the_pages() -> None:
    shown = {inner_semblance(command) for _, command in ALL}
    assert [command for command in COMMANDS if command not in shown] == []


def test_curl_examples_return_what_the_pages_show(url: str) -> None:
    """Before the commands of the pages store documents; those of the README run in tests/bare."""
    examples = [block for page in PAGES for block in blocks(page) if block.language == "bash" and block.shown]
    assert examples
    for example in examples:
        command = ["bash", "-c", example.code.replace("http://127.0.0.1:8000", url)]
        ran = subprocess.run(command, capture_output=True, text=True, check=True)
        assert_shown(json_lines(example.shown), json_lines(ran.stdout))


@pytest.mark.parametrize("page", BY_PAGE)
def test_the_commands_of_a_page_run_in_order(page: str, workspace: Path, url: str) -> None:
    home = workspace / "home"
    if page == "docs/operation.md":
        run(["index", "my-documents.csv", "--collection", "c"], Run(), home, url)
    if page == "docs/search.md":
        run(["index", "my-documents.csv", "--collection", "rolled"], Run(service=True), home, url)
    for command in BY_PAGE[page]:
        semblance = inner_semblance(command)
        words = in_workspace(semblance or "")
        match COMMANDS[semblance] if semblance else command:
            case Run() as how:
                run(words, how, home, url)
            case Serve():
                serve(words, settings_before(command), workspace)
            case Parse():
                parse(words)
            case other:
                run_or_check_other(other, url)


def run_or_check_other(command: str, url: str) -> None:
    if program(command) == "curl":
        run_curl(command, url)
    elif program(command) in SCRIPTS:
        check_script(command.split())
    else:
        check_shell(command)


def run_curl(command: str, url: str) -> None:
    command = command.replace("curl -s", "curl --fail-with-body -s").replace("http://127.0.0.1:8000", url)
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"{command}: {ran.stdout}{ran.stderr}"


def run(words: list[str], how: Run, home: Path, url: str) -> None:
    more = ["--url", url] if how.service else []
    if how.answer:
        environment = {**SETTINGS, "SEMBLANCE_HOME": str(home)}
        ran = CliRunner().invoke(app, [*words, *more], input=f"{how.answer}\n", env=environment)
        assert ran.exit_code == 0, f"{words}: {ran.output}"
    else:
        done = run_semblance(*words, *more, SEMBLANCE_HOME=str(home))
        assert done.returncode == 0, f"{words}: {done.stderr}"


def serve(words: list[str], settings: Mapping[str, str], workspace: Path) -> None:
    """Start the service at a free port; every model scores a pair, or a key is required.

    In place of the default models, which other tests serve: word vectors, or the model that aliases of a page name.
    """
    models = "minilm-graded" if "SEMBLANCE_MODEL_ALIASES" in settings else "words=vectors/glove.txt"
    default = {"SEMBLANCE_HOME": mkdtemp(dir=workspace), "SEMBLANCE_MODELS": models}
    environment = os.environ | settings | default
    named = [word.partition("=")[0] for option, word in pairwise(words) if option == "--model"]
    with serving([sys.executable, "-m", SEMBLANCE, *words, "--port", "0"], workspace, environment) as address:
        if "SEMBLANCE_API_KEYS" in settings:
            assert httpx2.get(f"{address}/models", timeout=600).status_code == 401
        else:
            served = score_by_each(address)
            assert not named or served == named


def parse(words: list[str]) -> None:
    """Parse by the command line, with paths that must exist; the verb is replaced by nothing."""
    if words == ["index", "reembed"]:
        return
    with pytest.MonkeyPatch.context() as patch:
        for module, verb in {verb_of(words)}:
            function = getattr(import_module(module), verb)
            patch.setattr(f"{module}.{verb}", wraps(function)(lambda **_: None))
        ran = CliRunner().invoke(app, words, env=SETTINGS)
    assert (ran.exit_code, ran.output) == (0, ""), words


def check_script(words: list[str]) -> None:
    assert os.access(PROJECT / words[0], os.X_OK), words
    if words[0] == "scripts/bench" and len(words) > 1:
        assert (PROJECT / "benchmarks" / f"{words[1].replace('.', '/')}.py").is_file(), words


def check_shell(command: str) -> None:
    ran = subprocess.run(["bash", "-n", "-c", command], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, ""), command
    extras = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    for named in re.findall(r"'\.\[([\w,]+)\]'", command):
        assert set(named.split(",")) <= set(extras), command


def short_commands() -> Iterator[tuple[str, str]]:
    """Commands inside of the sentences of the pages, and the examples that --help shows; with where they stand."""
    for page in (PROJECT / "README.md", *PAGES):
        sentences = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
        for command in re.findall(r"`(semblance [a-z][^`]*)`", sentences):
            yield page.name, " ".join(command.split())
    groups: tuple[type[LazyGroup], ...] = (SemblanceVerbs, *GROUPS.values())
    for group in groups:
        for name, module in modules_of(group).items():
            text = inspect.getdoc(getattr(import_module(module), name)) or ""
            examples = re.findall(r"^  (?:[A-Z_]+=\S+ )?(semblance .*)", text, re.MULTILINE)
            assert examples, f"semblance {name} --help shows no example"
            for command in examples:
                yield f"semblance {name} --help", command


def test_short_commands_name_verbs_and_options_that_exist() -> None:
    seen = 0
    for place, command in short_commands():
        words = shlex.split(command)[1:]
        if words[0] in GROUPS and len(words) == 1:
            continue
        try:
            module, name = verb_of(words)
        except KeyError:
            pytest.fail(f"{place}: there is no such verb: {command}")
        verb = typer.Typer(add_completion=False)
        verb.command()(getattr(import_module(module), name))
        known = {option for parameter in get_command(verb).params for option in parameter.opts} | {"--help"}
        assert {word for word in words if word.startswith("--")} <= known, f"{place}: {command}"
        seen += 1
    assert seen > 60
