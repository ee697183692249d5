"""Attacks on ``verify``: certificates that somebody else wrote and sealed, and ambiguous JSON.

Each goes red when its defence is taken out.
"""

import hashlib
import json

import numpy as np
import pytest

from reticent.protect import RECIPES, Terms, load, release_weights, save, verify
from reticent.protect.recipes.network import NetworkRecipe
from reticent.protect.release import release_records
from reticent.protect.sealed_pair import paths_of, read_pair
from reticent.training import SoftmaxHead
from reticent.training.networks import TRUST_VARIABLE, mlp
from reticent.validation import InputError
from tests.redteam.forging import LIE, one_line, problems, rows

STEP = "step 'scaler' before the head was fitted on public data alone"
FORGERIES = {
    "a checked line more": (lambda c: c["guarantee"]["checked"].append(LIE), "under checked"),
    "a checked line less": (lambda c: c["guarantee"]["checked"].pop(), "under checked"),
    "a stated line more": (lambda c: c["guarantee"]["stated"].append(LIE), "under stated"),
    "a stated line less": (lambda c: c["guarantee"]["stated"].pop(), "under stated"),
    "stated lines in another order": (
        lambda c: c["guarantee"]["stated"].reverse(),
        "under stated are not",
    ),
    "a step that the terms do not name": (
        lambda c: c["guarantee"]["stated"].append(STEP),
        "under stated are not",
    ),
    "a step of the terms that is not stated": (
        lambda c: c["terms"].update(public_steps=["scaler"]),
        "under stated lack",
    ),
    "the grade sampled": (
        lambda c: c["guarantee"].update(grade="sampled", gamma=0.05),
        "the grade cannot be sampled",
    ),
    "the grade published": (
        lambda c: c["guarantee"].update(grade="published"),
        "the grade cannot be published",
    ),
    "proven by numbers that were read off": (
        lambda c: (
            c["terms"]["sources"].update(penalty="inferred"),
            c["guarantee"]["stated"].insert(0, "penalty: read from the private data, not declared"),
        ),
        "the grade cannot be proven",
    ),
    "other guarantees inside": (
        lambda c: c["guarantee"].update(composed_of=[dict(c["guarantee"])]),
        "the grade cannot be",
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_certificate_does_not_hold(released, name):
    assert problems(released) == ()
    change, problem = FORGERIES[name]
    found = problems(released, change)
    assert any(problem in line for line in found), found
    with pytest.raises(InputError, match="must match its certificate"):
        load(released)


def test_a_step_on_public_data_is_named_by_the_terms(released):
    def named(certificate):
        certificate["terms"].update(public_steps=["scaler"])
        certificate["guarantee"]["stated"].append(STEP)

    assert problems(released, named) == ()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c["terms"]["sources"].update({f"{LIE}, and x": "said"}), "sources must name"),
        (lambda c: c["terms"].update(public_steps=[f"a' and {LIE}"]), "public_steps must be"),
        (lambda c: c["terms"].update(public_steps=["a", "a"]), "public_steps must be"),
        (lambda c: c["terms"].update(public_steps="a"), "public_steps must be"),
        (lambda c: c["terms"].update(public_steps=[["a"]]), "public_steps must be"),
        (lambda c: c.update(version=LIE), "version must be that of the package"),
        (lambda c: c.update(classes=["a", "a\u0000"]), "classes must be all texts"),
        (lambda c: c.update(classes=["a", 1]), "classes must be all texts"),
        (lambda c: c.update(classes=[1, "1"]), "classes must be all texts"),
        (lambda c: c.update(classes=[1, 1.5]), "classes must be all texts"),
        (lambda c: c.update(classes=[1, 10**400]), "must hold whole numbers of at most"),
        (lambda c: c.update(classes=["é", "e\u0301"]), "classes must be distinct"),
        (lambda c: c.update(classes=["a", "a "]), "classes must be distinct"),
        (lambda c: c.update(classes=["ill", "ill\u200b", "well"]), "classes must be"),
        (lambda c: c.update(classes=["a\u200b", "a\u2060"]), "classes must be distinct"),
        (lambda c: c.update(classes=[0.0, -0.0]), "classes must be distinct"),
    ],
)
def test_odd_names_are_refused_in_one_line(command, released, change, message):
    with pytest.raises(InputError, match=message):
        problems(released, change)
    assert message in one_line(command, "verify", released)


def test_classes_that_collide_are_refused_before_anything_is_charged():
    charged = []
    terms = Terms(epsilon=2.0, delta=1e-5, relation="add-remove")
    recipe = RECIPES["class-means"].planned(terms, records=60, features=3, classes=2)
    for names in (["a", "a "], np.array(["a", 1], dtype=object)):
        with pytest.raises(InputError, match="classes must be"):
            release_records(recipe, terms, *rows(), classes=names, charge=charged.append)
    assert charged == []


def test_weights_hold_the_tensors_of_the_recipe_and_nothing_else(released):
    hidden = np.frombuffer(b"the names of all patients".ljust(32))
    found = problems(released, tensors=lambda own: {**own, "spare": hidden})
    assert "spare is no tensor of weights" in found
    found = problems(released, tensors=lambda own: {"spare": next(iter(own.values()))})
    assert any("coordinates does not have the shape" in line for line in found)


def test_weights_carry_no_metadata_but_their_seal(released):
    found = problems(released, metadata={"note": LIE})
    assert found == ("the weights carry 'note' beside their seal",)


def test_a_header_holds_nothing_beside_what_places_its_tensors(released):
    """The library that reads them skips a field that it does not know, and spaces at the end."""

    def rewritten(change, spaces):
        content = paths_of(released).weights.read_bytes()
        length = int.from_bytes(content[:8], "little")
        header = change(json.loads(content[8 : 8 + length]))
        text = header.encode() + b" " * (spaces + -len(header.encode()) % 8)
        return len(text).to_bytes(8, "little") + text + content[8 + length :]

    def with_note(header):
        header["coordinates"]["note"] = LIE
        return json.dumps(header)

    def twice(header):
        text = json.dumps(header)
        return text[:-1] + ', "__metadata__": ' + json.dumps(header["__metadata__"]) + "}"

    for change, spaces, problem in (
        (with_note, 0, "the tensor coordinates carries more than its numbers"),
        (json.dumps, 800, "the certificate is not the one that the weights were sealed with"),
        (twice, 0, "the certificate is not the one that the weights were sealed with"),
    ):
        content = rewritten(change, spaces)
        claims = dict(read_pair(released).claims)
        other = released.with_name("other")
        paths_of(other).weights.write_bytes(content)
        whole = {**claims, "weights_sha256": hashlib.sha256(content).hexdigest()}
        paths_of(other).certificate.write_text(json.dumps(whole))
        assert problem in verify(other).problems


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace", "logistic", "l2-laplace"])
def test_released_numbers_lie_on_the_grid_of_their_noise(tmp_path, mechanism):
    X, y = rows()
    delta = 1e-6 if mechanism == "gaussian" else 0.0
    head = SoftmaxHead(penalty=0.1, classes=[0, 1], records=60).fit(X, y)
    save(release_weights(head, epsilon=2.0, delta=delta, relation="add-remove",
                         mechanism=mechanism), tmp_path / "own")  # fmt: skip
    assert problems(tmp_path / "own") == ()
    exact = {"coordinates": head.coordinates_}
    found = problems(tmp_path / "own", tensors=lambda _: exact)
    assert found == ("the tensor coordinates does not lie on the grid of its noise",)


def test_a_noisy_mean_lies_on_its_grid_over_n(tmp_path):
    """Under both roofs: as a release, and as the centre of a head."""
    X, y = rows()
    terms = Terms(epsilon=2.0, delta=1e-6, relation="add-remove")
    for name, options in (("mean", {}), ("weights", {"mean_bound": 2.0})):
        recipe = RECIPES[name].planned(
            terms, records=61, features=3, classes=0 if name == "mean" else 2, bound=2.0, **options
        )
        classes = [] if name == "mean" else ["no", "yes"]
        save(release_records(recipe, terms, X, y, classes=classes), tmp_path / name)
        assert problems(tmp_path / name) == ()
        tensor = "mean" if name == "mean" else "centre"
        found = problems(
            tmp_path / name, tensors=lambda own, tensor=tensor: own | {tensor: X.mean(axis=0)}
        )
        assert found == (f"the tensor {tensor} does not lie on the grid of its noise",)


# --- JSON that two readers read in two ways -----------------------------------------------------

TWICE = ('"epsilon": 2.0', '"epsilon": 0.01, "epsilon": 2.0')
NOT_FINITE = [('"epsilon": 2.0', f'"epsilon": {odd}') for odd in ("NaN", "1e999", "-Infinity")]
SURROGATE = [('"add-remove"', '"\\ud800"')]


@pytest.mark.parametrize(("old", "new"), [TWICE, *NOT_FINITE, *SURROGATE])
@pytest.mark.parametrize("name", ["head.json", "results.json"])
def test_ambiguous_json_is_refused_in_one_line(command, folder, name, old, new):
    path = folder / name
    text = path.read_text(encoding="utf-8").replace('"epsilon":2.0', '"epsilon": 2.0')
    text = text.replace('":"', '": "')
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    commands = {
        "head.json": [("verify", folder / "head"), ("card", "--released", folder / "head")],
        "results.json": [("report", path, "--public"), ("card", path), ("compare", path, path)],
    }
    for arguments in commands[name]:
        error = one_line(command, *arguments)
        assert any(
            words in error
            for words in ("got one twice", "finite numbers", "half of a surrogate pair")
        )


CALLED = []


def called(shape, classes):
    """What a forger would like to have called."""
    CALLED.append(shape)
    return mlp(shape, classes)


@pytest.fixture
def network(tmp_path):
    release = release_records(
        NetworkRecipe(
            records=60, features=3, classes=2, mechanism="gaussian", epochs=1.0, batch=60
        ),
        Terms(epsilon=2.0, delta=1e-5, relation="replace-one"),
        *rows(),
        classes=np.arange(2),
    )
    save(release, tmp_path / "net")
    return tmp_path / "net"


def test_code_that_a_certificate_names_is_not_called(network, monkeypatch):
    name = f"{__name__}:called"

    def forged(claims):
        claims["numbers"]["architecture"] = name

    with pytest.raises(InputError, match="must be trusted before it is called, got it from a file"):
        problems(network, forged)
    assert CALLED == []
    monkeypatch.setenv(TRUST_VARIABLE, f"other:thing,{name}")
    problems(network, forged)
    assert CALLED == [(3,)] * len(CALLED) != []
