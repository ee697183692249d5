"""From the committed grids to what plan chose and predicted, and how well.

results/plan-grid-*.json and plan-uneven.json give results/plan.json, results/pure-grid-*.json
(δ = 0) give results/pure-plan.json. Prints the constants that protect/plan.py and
protect/plan_pure.py must hold; tests compare them.
"""

import datetime
import json
from pathlib import Path
from typing import Any

from reticent.files import write_atomic
from reticent.results.table import Table
from reticent.studies import plan_fit, pure_plan_fit
from reticent.studies.plan_uneven import uneven_cells

RESULTS = Path(__file__).resolve().parent.parent / "results"


def main() -> None:
    """Judge the committed grids."""
    grids = _read("plan-grid-*")
    (uneven,) = _read("plan-uneven")
    cells = [*plan_fit.cells_of(grids), *uneven_cells(uneven)]
    _write("plan", uneven["versions"], plan_fit.judged(cells), plan_fit.curves_of(cells))
    pure_grids = _read("pure-grid-*")
    pure_cells = pure_plan_fit.cells_of(pure_grids)
    table = pure_plan_fit.judged(pure_cells)
    _write("pure-plan", pure_grids[-1]["versions"], table, pure_plan_fit.fitted(pure_cells))


def _read(grid: str) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(RESULTS.glob(f"{grid}.json"))]


def _write(name: str, versions: object, table: Table, constants: object) -> None:
    document = {
        "command": "python tools/judge_plan.py",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "versions": versions,
        "specifications": [],
        "tables": [table.to_dict()],
    }
    text = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    write_atomic(RESULTS / f"{name}.json", text.encode())
    print(constants)
    for note in table.notes:
        print(note)


if __name__ == "__main__":
    main()
