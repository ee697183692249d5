"""From results/plan-grid-*.json to results/plan.json: what plan chose and predicted, and how well.

Prints the constants that protect/plan.py must hold; a test compares them.
"""

import datetime
import json
from pathlib import Path

from reticent.files import write_atomic
from reticent.studies.plan_fit import cells_of, fitted, judged

RESULTS = Path(__file__).resolve().parent.parent / "results"


def main() -> None:
    """Judge the committed grids."""
    grids = [json.loads(path.read_text()) for path in sorted(RESULTS.glob("plan-grid-*.json"))]
    cells = cells_of(grids)
    document = {
        "command": "python tools/judge_plan.py",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "versions": grids[-1]["versions"],
        "specifications": [],
        "tables": [judged(cells).to_dict()],
    }
    text = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    write_atomic(RESULTS / "plan.json", text.encode())
    print(fitted(cells))
    for note in document["tables"][0]["notes"]:
        print(note)


if __name__ == "__main__":
    main()
