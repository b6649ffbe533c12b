"""Write the figures of docs/performance.md: all of them, or some.

    python -m benchmarks.report.performance --only serving

runs the benchmarks below, one after the other, and writes the figures of each to its section of the page, with a
picture in docs/images/ if there is one. With --kept it runs nothing and writes the figures of the last runs. It takes
two hours on a machine without other load.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.report.pictures import PICTURES
from benchmarks.speed.pressure import KINDS
from tests.support.report_pages import DOCS, Section, run_benchmark, write_section
from tests.support.results import Results, load_results

PAGE = DOCS / "performance.md"
SECTIONS = (
    Section("benchmarks.speed.serving", "Requests per second, compared with other servers"),
    Section("benchmarks.speed.request_cost", "Cost of a request of one text, part by part"),
    Section("benchmarks.speed.runtimes", "Runtimes on a CPU"),
    Section("benchmarks.speed.encoding", "Sentences per second in one process, compared with sentence-transformers"),
    Section(
        "benchmarks.speed.search",
        "Searches, compared with FAISS alone and txtai",
        ("--documents", "10000", "100000", "1000000"),
    ),
    Section("benchmarks.speed.index_memory", "Memory of an index, and what it finds", ("--rows", "1000000")),
    Section("benchmarks.speed.rescoring", "Rescoring by tokens"),
    Section(
        "benchmarks.speed.reranking",
        "Documents reranked per second, compared with cross-encoders",
        results_name="reranking_speed",
    ),
    Section(
        "benchmarks.quality.candidates",
        "Recall of rescoring by number of candidates",
        ("--data", "$SEMBLANCE_DATA", "--models", "minilm-words"),
    ),
    Section(
        "benchmarks.speed.cached_similarity",
        "Similarities of cached texts, compared with a route that does nothing",
        results_name="cached",
    ),
    Section("benchmarks.speed.growth", "Cost by length of texts and size of collections"),
    Section("benchmarks.speed.endurance", "Memory over a million requests, and start-up time"),
    Section(
        "benchmarks.speed.serving",
        "Serving under pressure: our figures, and the ratios to other servers",
        ("--pressure", *KINDS),
        results_name="pressure",
    ),
    Section("benchmarks.speed.gpu", "On a GPU"),
)


def draw_pictures(name: str) -> list[Path]:
    """Draw the pictures of a benchmark from its saved figures."""
    if name not in PICTURES:
        return []
    results_name, draw = PICTURES[name]
    file = DOCS / "images" / f"{name}.png"
    draw(load_results(results_name).figures).savefig(file, dpi=120)
    return [file]


def shown(name: str, results: Results) -> Results:
    """The figures that the page shows; the commands, or pictures, show the others."""
    figures = results.figures
    match name:
        case "encoding" | "growth":
            return replace(results, figures=figures[0])
        case "reranking_speed":
            return replace(results, figures=figures["rates"])
        case "pressure":  # the others stand in the section of requests per second
            return replace(results, figures=[row for row in figures if row["pressure"] != "idle"])
        case "gpu":
            return replace(results, figures=gpu_tables(figures))
    return results


def gpu_tables(figures: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of a GPU in few tables, without the times of kernels."""
    encoding = {name.split()[1]: part for name, part in figures.items() if name.startswith("encoding ")}
    others = {
        name: part for name, part in figures.items() if isinstance(part, dict) and not name.startswith("encoding ")
    }
    single = {name: value for part in others.values() if len(part) == 1 for name, value in part.items()}
    return {
        **{name: figures[name] for name in ("device", "torch", "transformers")},
        **single,
        "sentences/s": [
            {"network": network, "from": source, **part[f"from_{source}"]}
            for network, part in encoding.items()
            for source in ("ids", "texts")
        ],
        "milliseconds of one call": [
            {
                "network": network,
                **part["milliseconds"],
                "least cosine to float32": part["cosines"]["tokens to float32"],
            }
            for network, part in encoding.items()
        ],
        **{name: part for name, part in others.items() if len(part) > 1},
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=[section.name for section in SECTIONS], help="run only these")
    parser.add_argument("--kept", action="store_true", help="run nothing; write the figures of the last runs")
    options = parser.parse_args(arguments)
    for section in SECTIONS:
        if options.only is None or section.name in options.only:
            results = load_results(section.name) if options.kept else run_benchmark(section)
            write_section(PAGE, section, shown(section.name, results), draw_pictures(section.name))


if __name__ == "__main__":
    main()
