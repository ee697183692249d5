"""From results/plan-grid-*.json and plan-uneven.json to plan.json: how well plan chose and told.

Prints the constants that protect/plan.py must hold; a test compares them.
"""

import datetime
import json
from pathlib import Path

from reticent.files import write_atomic
from reticent.studies.plan_fit import cells_of, curves_of, judged
from reticent.studies.plan_uneven import uneven_cells

RESULTS = Path(__file__).resolve().parent.parent / "results"


def main() -> None:
    """Judge the committed grids."""
    grids = [json.loads(path.read_text()) for path in sorted(RESULTS.glob("plan-grid-*.json"))]
    uneven = json.loads((RESULTS / "plan-uneven.json").read_text())
    cells = [*cells_of(grids), *uneven_cells(uneven)]
    document = {
        "command": "python tools/judge_plan.py",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "versions": uneven["versions"],
        "specifications": [],
        "tables": [judged(cells).to_dict()],
    }
    text = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    write_atomic(RESULTS / "plan.json", text.encode())
    for learner, curve in curves_of(cells).items():
        print(learner, curve)
    for note in document["tables"][0]["notes"]:
        print(note)


if __name__ == "__main__":
    main()
