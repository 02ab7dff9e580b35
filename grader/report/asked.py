"""What each check asks, in one sentence for a reader of the report."""

from __future__ import annotations

from collections.abc import Mapping

from grader.rubric import COMPLETE_LOG

#: By the check's name; a check that is not here has no sentence.
ASKED: Mapping[str, str] = {
    "script": "The whole file, run as torchrun runs it: does it end on every rank, and does each of its own "
    "comparisons compare what it should?",
    "baseline": "At the handout's sizes and on 4 ranks: are the weights those of the single device, on every "
    "rank?",
    "hidden": "The same question for seeds, sizes, steps and world sizes that are not told.",
    "own_share": "Does each rank do only its share? It is given data in which all that it does not own is "
    "NaN: honest work has no use for that.",
    "input_gradient": "Built on an input that requires its gradient: are the layer's output, dW and dX "
    "right?",
    COMPLETE_LOG: "Is the log that was handed in whole, whatever it says?",
}
