"""The panel: sets of many domains, so that a model is not chosen by one kind of text.

It contains no pair of the STS, SICK and iSTS test sets, which report what a chosen model can do.
"""

from __future__ import annotations

from collections.abc import Sequence

from semblance_lab.evaluation.results import MeasureOutcome

PANEL = (
    "stsb_dev_panel",
    "sickr_trial_panel",
    "cxc_val_panel",
    "ists_train_panel",
    "edinburgh_train_panel",
    "msr_rte",
    "pit_dev",
    "turl_train_panel",
    "qqp_dev_panel",
    "msrp_train_panel",
    "argkp_dev",
    "nfcorpus_dev",
    "cranfield",
    "cisi",
    "medline",
    "wikiqa_dev",
)
PANEL_MEAN = "panel_mean"


def panel_order(outcomes: Sequence[MeasureOutcome]) -> list[str]:
    """Names of the panel's sets among the outcomes, in the order of the panel's table.

    Where every figure is compared with that of another model, the set with the worst difference of any measure comes
    first; otherwise the sets are in the order of their kinds and names.
    """
    by_set = {name: [each for each in outcomes if each.set == name] for name in PANEL}
    present = {name: each for name, each in by_set.items() if each}
    if all(each.against is not None for of_set in present.values() for each in of_set):
        return sorted(present, key=lambda name: _worst(present[name]))
    return sorted(present, key=lambda name: (present[name][0].kind, name))


def _worst(outcomes: Sequence[MeasureOutcome]) -> float:
    return min(each.against.value for each in outcomes if each.against is not None)
