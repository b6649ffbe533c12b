"""`semblance`: the table of all verbs, each imported only when it is called.

The module of a verb imports what its help needs; torch and the packages of extras are imported by
the functions that use them, so that `--help` is fast and works without them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import version
from types import ModuleType
from typing import Annotated, Any, ClassVar, TypeAlias

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command
from typer.models import TyperPath

from semblance.models.errors import MissingExtra
from semblance.service.cli.toolbox.garbage import without_collections
from semblance.service.cli.toolbox.lab import MissingLab, lab_module

PACKAGE = "semblance.service.cli"
EXTRAS = {  # packages of extras, by the name they are imported by: the extra and the package
    "mcp": ("mcp", "mcp"),
    "mcp_types": ("mcp", "mcp"),
    "ot": ("transport", "pot"),
    "pyarrow": ("parquet", "pyarrow"),
    "ray": ("ray", "ray"),
    "scipy": ("calibrate", "scipy"),
    "torch": ("models", "torch"),
    "transformers": ("models", "transformers"),
}

Verbs: TypeAlias = Mapping[str, tuple[str, str]]
"""For each verb the module that holds a function of that name, and the first line of its help.

Modules are below `PACKAGE`, those of the lab below `semblance_lab.cli`.
"""


class LazyGroup(TyperGroup):
    """Command group that lists its verbs without importing them, so that `--help` is fast."""

    verbs: ClassVar[Verbs] = {}
    lab_verbs: ClassVar[Verbs] = {}

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        own = {name: _LazyCommand(name, _own_module, *entry) for name, entry in self.verbs.items()}
        lab = {name: _LazyCommand(name, _lab_module, *entry) for name, entry in self.lab_verbs.items()}
        lazy = {**own, **lab}
        self.commands = {**lazy, **self.commands}

    def invoke(self, ctx: Any) -> Any:
        """Run a verb. Raises SystemExit if it needs the lab or an extra that is not installed."""
        try:
            return super().invoke(ctx)
        except MissingLab as error:
            raise SystemExit(f"`semblance {_verb(ctx)}`: {error}") from error
        except ModuleNotFoundError as error:
            name = (error.name or "").partition(".")[0]
            if name not in EXTRAS:
                raise
            extra, package = EXTRAS[name]
            raise SystemExit(str(MissingExtra(f"`semblance {_verb(ctx)}`", package, extra))) from error


def _verb(ctx: Any) -> str:
    """The verb that a group runs, after the groups above it, such as `pairs tweets`."""
    names = [ctx.invoked_subcommand]
    while ctx.parent is not None:
        names.insert(0, ctx.info_name)
        ctx = ctx.parent
    return " ".join(names)


def _own_module(name: str) -> ModuleType:
    return import_module(f"{PACKAGE}.{name}")


def _lab_module(name: str) -> ModuleType:
    return lab_module(f"cli.{name}")


class _LazyCommand(TyperCommand):
    """Entry in the help of a group, replaced by the real command when it is called."""

    def __init__(self, name: str, load: Callable[[str], ModuleType], module: str, summary: str) -> None:
        super().__init__(name, help=summary)
        self._load, self._module = load, module

    def make_context(self, info_name: Any, args: Any, parent: Any = None, **extra: Any) -> Any:
        """Context of the real command, which the group then invokes.

        Raises BadParameter if a path is empty.
        """
        context = self.real().make_context(info_name, args, parent, **extra)
        for each in context.command.params:
            if isinstance(each.type, TyperPath) and context.params[each.name] == "":
                raise typer.BadParameter("it is empty, which would be the current folder", context, each)
        return context

    def real(self) -> Any:
        """The command with its options."""
        verb = str(self.name)
        app = typer.Typer(rich_markup_mode=None, add_completion=False)
        with without_collections():
            app.command(verb)(getattr(self._load(self._module), verb))
        return get_command(app)


def group(cls: type[LazyGroup], help_text: str) -> typer.Typer:
    """A Typer application whose verbs are those of `cls`."""
    # without markup, help wraps paragraphs; the other modes keep the line breaks of the source
    return typer.Typer(cls=cls, help=help_text, no_args_is_help=True, rich_markup_mode=None)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"semblance {version('semblance-server')}")
        raise typer.Exit


class SemblanceVerbs(LazyGroup):
    """Verbs of `semblance`."""

    verbs: ClassVar[Verbs] = {
        "serve": ("serve", "Serve the HTTP API until interrupted."),
        "models": ("model.models", "Check and list the models that would be served."),
        "pull": ("model.pull", "Fetch a model from a model hub."),
        "export": ("model.export", "Write a model as a folder that sentence-transformers reads."),
        "project": ("model.project", "Fit a projection to the vectors of many texts."),
        "calibrate": ("model.calibrate", "Fit the probability that people call a pair the same."),
        "embed": ("batches.embed", "Encode files of texts into files of vectors."),
        "search": ("ask.search", "Find the documents that are nearest to a query."),
        "compare": ("ask.compare", "Score how alike a text and others are."),
        "explain": ("ask.explain", "Show which words make the score of two texts."),
        "same": ("ask.same", "Say whether texts say the same, and why not."),
        "collections": ("ask.collections", "List the collections, with documents, model and state."),
        "show": ("ask.show", "Show a collection, or a document of it."),
        "delete": ("ask.delete", "Delete documents, or a whole collection."),
        "duplicates": ("duplicates", "List groups of near-duplicates in a collection."),
        "mcp": ("mcp", "Serve a language model by the Model Context Protocol."),
        "backup": ("backup", "Copy all collections into a folder."),
        "restore": ("restore", "Replace all collections by those of a backup."),
        "size": ("size", "Estimate the memory and disk that a collection needs."),
        "snapshot": ("snapshot", "Copy the data of a running service for a new replica."),
    }
    lab_verbs: ClassVar[Verbs] = {
        "evaluate": ("evaluate.verb", "Measure how well scores agree with human judgments."),
        "train": ("train", "Train an encoder by the recipe of a paper."),
        "harvest": ("harvest", "Draw pairs of sentences and score them by Origin."),
    }


class IndexVerbs(LazyGroup):
    """Verbs of `semblance index`; `add` is the default."""

    verbs: ClassVar[Verbs] = {
        "add": ("index.add", "Store the documents of a file or folder."),
        "reembed": ("index.reembed", "Re-embed a collection under another model or passages."),
        "verify": ("index.verify", "Check the database, its vectors and its indexes."),
        "rebuild": ("index.rebuild", "Rebuild indexes from the stored vectors."),
    }

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.options_metavar, self.subcommand_metavar = "", "FILE|FOLDER [OPTIONS] | COMMAND [ARGS]..."

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """List the commands, and the options of a file or folder."""
        super().format_options(ctx, formatter)
        add = self.commands["add"]
        assert isinstance(add, _LazyCommand)
        options = (each.get_help_record(ctx) for each in add.real().get_params(ctx))
        with formatter.section("Options of FILE|FOLDER"):
            formatter.write_dl([each for each in options if each is not None and each[0] != "--help"])

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read `semblance index FILE` as `semblance index add FILE`."""
        if args and args[0] not in self.verbs and args[0] != "--help":
            args = ["add", *args]
        return super().parse_args(ctx, args)


class KeyVerbs(LazyGroup):
    """Verbs of `semblance key`."""

    verbs: ClassVar[Verbs] = {"new": ("key", "Create an API key and its entry for SEMBLANCE_API_KEYS.")}


class OriginVerbs(LazyGroup):
    """Verbs of `semblance origin`."""

    lab_verbs: ClassVar[Verbs] = {
        "corpus": ("origin.corpus", "Build a corpus, vocabulary and bigram index from text."),
        "train": ("origin.train", "Train the coherence and the generative models."),
        "score": ("origin.score", "Score the similarity of sentences by their contexts."),
        "evaluate": ("origin.evaluate", "Correlate the scores of Origin with human grades."),
        "explain": ("origin.explain", "Show the contexts and terms behind a score."),
        "start": ("origin.start", "Create a small transformer to train a surrogate from."),
    }


class PairsVerbs(LazyGroup):
    """Verbs of `semblance pairs`."""

    lab_verbs: ClassVar[Verbs] = {
        "tweets": ("pairs.conversations", "Mine pairs and rankings from tweets, quotes and replies."),
        "threads": ("pairs.conversations", "Mine pairs and a ranking from threads of linked texts."),
        "harvest": ("pairs.harvest", "Join harvested shards and split them for training."),
    }


app = group(SemblanceVerbs, "Sentence similarity and semantic search that show their work.")


@app.callback()
def _options(
    show_version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Options before a verb."""


app.add_typer(
    group(
        IndexVerbs,
        """Store documents and maintain collections.

        `verify` and `rebuild` need the service to be stopped; `add` and `reembed` use a running one.

        \b
        Examples:
          semblance index help.csv --collection help
          semblance index reembed help --model minilm
          semblance index verify
          semblance index rebuild --collection help
        """,
    ),
    name="index",
)
app.add_typer(group(KeyVerbs, "Create API keys."), name="key")
app.add_typer(
    group(
        OriginVerbs,
        """Learn sentence similarity from plain text.

        Two sentences are similar as far as they fit the same contexts.

        \b
        Examples:
          semblance origin corpus texts/ --out runs/origin
          semblance origin train runs/origin
          semblance origin explain runs/origin "A man plays a guitar." "Someone plays an instrument."
        """,
    ),
    name="origin",
)
app.add_typer(
    group(
        PairsVerbs,
        """Mine training pairs and held-out rankings.

        Sources are conversations and harvests of Origin.

        \b
        Examples:
          semblance pairs tweets archive/ --out pairs
          semblance pairs threads threads.tsv --out support
          semblance pairs harvest runs/harvest --out runs/pairs
        """,
    ),
    name="pairs",
)

if __name__ == "__main__":
    app()
