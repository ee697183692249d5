"""Lu et al., Table 6 with the OARO column of Table 5: printed figures beside ours."""

from dataclasses import asdict

from reticent.results.table import Table
from reticent.studies.lu.tables import NETWORKS, TABLE_6

COLUMNS = {
    "ρ": "rho",
    "Δω": "weight",
    "Δz": "neuron",
    "Δp": "probability",
    "(e^2Δz−1)": "bracketed",
    "OARO": "stability",
}


def table6() -> Table:
    """Table 6 and the OARO column of Table 5 by the paper's formulas, printed value beside ours."""
    return Table(
        title="Lu et al., Table 6 and the OARO column of Table 5: printed / ours",
        columns=("data", *COLUMNS),
        rows=tuple(_row(name) for name in NETWORKS),
        notes=(
            "Grade published: Eqs. 18, 19 and 21 are no bounds (reticent reproduce lu verdicts). "
            "Where a cell has one figure, ours is the printed one to the last digit.",
            "ρ = (C−1)/C·√(m/128), |W| = 128(m+C), Δω = 2ρ/(λn√|W|), Δz = 128Δω, "
            "OARO ≤ 2ρ²/(λn), with λ = 5e-4 (the L2 factor 0.001 of Table 4 is 2λ) and all "
            "activations at 1. Purchase has 600 features in Table 3; its figures need 594.",
            f"Printed otherwise: {'; '.join(_differences())}. Purchase-2's Δp follows from its "
            "Δz as printed (0.4908 from ours unrounded). The bracketed "
            "column needs Δz rounded to four decimals first.",
        ),
    )


def _row(name: str) -> tuple[str, ...]:
    printed, ours = asdict(TABLE_6[name]), asdict(NETWORKS[name].calculated().texts())
    cells = [
        printed[key] if printed[key] == ours[key] else f"{printed[key]} / {ours[key]}"
        for key in COLUMNS.values()
    ]
    return name, *cells


def _differences() -> list[str]:
    """Cell by cell: what is printed, and what the formulas give."""
    said = []
    for name, network in NETWORKS.items():
        printed, ours = asdict(TABLE_6[name]), asdict(network.calculated().texts())
        said += [
            f"{name} {column} {printed[key]} (ours {ours[key]})"
            for column, key in COLUMNS.items()
            if printed[key] != ours[key]
        ]
    return said
