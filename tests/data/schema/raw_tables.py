"""A schema with every type of column, and raw records of it, valid and odd."""

from reticent.data import Schema

FACTS = {
    "records": 50,
    "source": "a codebook",
    "file": {"gaps": ["?"], "decimal": ",", "separator": ";"},
    "columns": {
        "age": {"type": "number", "range": [0, 100], "unit": "years", "gap": "indicator"},
        "income": {"type": "number", "range": [1, 1e6], "scale": "log", "gap": {"constant": 1000}},
        "shift": {"type": "number", "range": [-5, 20], "gap": "refuse"},
        "city": {
            "type": "category",
            "values": ["Bern", "Chur"],
            "other": True,
            "spellings": {"Bern": ["Berne"]},
            "gap": {"constant": "Chur"},
        },
        "sex": {"type": "category", "values": ["f", "m"], "gap": "indicator"},
        "smoker": {"type": "true-false", "gap": {"constant": False}},
        "born": {
            "type": "date",
            "span": ["1900-01-01", "2020-12-31"],
            "format": "%d.%m.%Y",
            "gap": "indicator",
        },
        "vector": {"type": "numbers", "length": 3, "range": [-1, 1], "norm": 1.0},
        "row": {"role": "ignored"},
        "ill": {"role": "label", "classes": ["0", "1"], "spellings": {"0": ["0.0"], "1": ["1.0"]}},
    },
}
SCHEMA = Schema.from_dict(FACTS)
HEADER = "age;income;shift;city;sex;smoker;born;vector;row;ill"
ROWS = [
    "31;1000;1,5;Bern;f;true;06.02.1990;[0.5, 0, 0];1;0",
    " 45 ;2e5;-7;Berne;m;False;01.01.1850;[3, 4, 0];2;1.0",
    "?;;20,0;Atlantis;?;1;31.12.2020;[-1, -1, -1];3;0.0",
    "1e300;-5;,5;;f;;;[0, 0, 0];4;1",
]


def text_of(rows, header=HEADER):
    return "\n".join([header, *rows]) + "\n"
