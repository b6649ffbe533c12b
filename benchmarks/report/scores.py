"""Write the figures of docs/scores.md: typical scores, texts with a warning, links of hits, orders by measure.

    scripts/bench report.scores

runs the benchmarks and writes their figures to the page. SEMBLANCE_DATA (docs/measures.md) is needed.
"""

from __future__ import annotations

from dataclasses import replace

from tests.support.report_pages import DOCS, Section, run_benchmark, write_section

PAGE = DOCS / "scores.md"
DATA, MODEL = ("--data", "$SEMBLANCE_DATA"), ("--models", "minilm-graded")
SECTIONS = (
    Section("benchmarks.quality.typical_scores", "The middle 80 % of scores", (*DATA, *MODEL)),
    Section("benchmarks.quality.unread_texts", "Texts with a warning", DATA),
    Section("benchmarks.quality.hit_reasons", "The strongest links of search hits", MODEL),
    Section("benchmarks.quality.reranking", "Documents ordered by each measure", (*DATA, *MODEL)),
)


def main() -> None:
    """Run from the command line."""
    for section in SECTIONS:
        results = run_benchmark(section)
        if section.name == "reranking":  # without the numbers of texts
            results = replace(results, figures={"nDCG@10": results.figures["nDCG@10"]})
        write_section(PAGE, section, results)


if __name__ == "__main__":
    main()
