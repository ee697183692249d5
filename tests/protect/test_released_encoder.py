"""An encoder is a release: certified, it plugs in where encoders do and composes with a head."""

import dataclasses
import json

import numpy as np
import pytest
from sklearn.base import clone

from reticent.data import Dataset
from reticent.guarantee import Grade, Guarantee
from reticent.protect import (
    RECIPES,
    ReleasedEncoder,
    ReleaseRequest,
    Terms,
    UsedEncoder,
    composed_guarantee,
    encoder_from,
    load,
    release_encoder,
    release_mean,
    release_records,
    release_table,
    save,
    use_encoder,
    verify,
)
from reticent.protect.estimators import AdaSSPRegressor, ClassMeansHead
from reticent.protect.released_encoder import fingerprint_of
from reticent.training.encoders.cache import cached_features
from reticent.validation import InputError

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(300, 5))
LABELS = (ROWS[:, 0] > 0).astype(np.int64)
BUDGET = {"epsilon": 2.0, "delta": 1e-5, "relation": "add-remove", "records": 300}
NUMBERS = {"epsilon": 1.0, "delta": 1e-5, "relation": "add-remove"}
SMALL = {"components": 3, "clusters": 4, "rounds": 2}


def table(**changes):
    fields = {"name": "rows", "source": "here", "inputs": ROWS, "labels": LABELS}
    return Dataset(**(fields | {"classes": ("no", "yes")} | changes))


def encoder(**changes):
    request = ReleaseRequest.of(**(BUDGET | changes), recipe="prototypes", **SMALL)
    return release_encoder(table(labels=None, classes=()), request)


@pytest.fixture(scope="module")
def released():
    return encoder()


def head_on(released, people, **changes):
    data = cached_features(table(), ReleasedEncoder(released), folder=False)
    terms = Terms(
        **({"epsilon": 1.0, "delta": 1e-5, "relation": "add-remove"} | changes),
        encoder=use_encoder(released, people),
    )
    return release_table(data, ReleaseRequest(terms=terms, records=300, recipe="class-means"))


def test_it_makes_features_and_is_certified(released, tmp_path):
    assert released.guarantee.grade is Grade.PROVEN
    features = released.transform(ROWS)
    assert features.shape == (300, 8)
    save(released, tmp_path / "encoder")
    assert verify(tmp_path / "encoder").holds
    assert np.array_equal(load(tmp_path / "encoder").transform(ROWS), features)
    for asked in (released.predict, released.logits):
        with pytest.raises(InputError, match="must not be asked to predict: it is encoding"):
            asked(ROWS)
    with pytest.raises(InputError, match="X must have 5 features, got 4"):
        released.transform(ROWS[:, :4])


def test_a_classifier_makes_no_features():
    terms = Terms(epsilon=1.0, delta=1e-5, relation="add-remove")
    recipe = RECIPES["class-means"].planned(terms, records=300, features=5, classes=2)
    head = release_records(recipe, terms, ROWS, LABELS, classes=["no", "yes"])
    with pytest.raises(InputError, match="must not be asked for features: it is classification"):
        head.transform(ROWS)
    with pytest.raises(InputError, match="encoder must be a release of an encoder"):
        use_encoder(head, "same")


def test_its_path_or_folder_is_a_name_of_an_encoder(released, tmp_path):
    (tmp_path / "made").mkdir()
    save(released, tmp_path / "made" / "encoder")
    expected = released.transform(ROWS).astype(np.float32)
    for text in ("made/encoder", "made/encoder.safetensors", "made/encoder.json", "made"):
        opened = encoder_from(str(tmp_path / text))
        assert np.array_equal(opened.encode(ROWS), expected)
        assert opened.fingerprint() == ReleasedEncoder(released).fingerprint()
    assert opened.encode(ROWS[:0]).shape == (0, 8)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="must be a folder with one release, got 0"):
        encoder_from(str(tmp_path / "empty"))
    assert encoder_from("scattering").fingerprint()
    with pytest.raises(InputError, match="encoder must be efficientnet-lite0"):
        encoder_from("no-such-encoder")
    mean = release_mean(ROWS, bound=1.0, **BUDGET)
    save(mean, tmp_path / "mean")
    with pytest.raises(InputError, match="must hold a released encoder, got a statistic"):
        encoder_from(str(tmp_path / "mean"))


def test_another_encoder_has_another_fingerprint(released):
    assert fingerprint_of(released) != fingerprint_of(encoder())
    assert fingerprint_of(released) == fingerprint_of(released)


def test_guarantees_of_the_same_people_add_up(released):
    head = head_on(released, "same")
    both = composed_guarantee(head)
    assert head.guarantee.grade is both.grade is Grade.PROVEN
    assert both.delta == pytest.approx(2e-5)
    assert 2.0 < both.epsilon < 3.0  # of Gaussian noise less than the sum of both
    assert [part.epsilon for part in both.composed_of] == [2.0, 1.0]
    line = next(line for line in head.guarantee.stated if "released encoder" in line)
    assert "of the same people" in line
    assert "at most ε ≤ 3, δ ≤ 2e-5" in line


def test_of_other_people_the_larger_holds(released):
    head = head_on(released, "other")
    both = composed_guarantee(head)
    assert (both.epsilon, both.delta, both.grade) == (2.0, 1e-5, Grade.DECLARED)
    line = next(line for line in head.guarantee.stated if "released encoder" in line)
    assert "of other people and nobody is in both" in line
    assert "at most ε ≤ 2, δ ≤ 1e-5" in line


def test_a_head_without_a_released_encoder_has_one_guarantee(released):
    assert composed_guarantee(released) is None
    assert use_encoder(None, None) is None
    assert use_encoder(encoder_from("scattering"), None) is None


@pytest.mark.parametrize(
    ("people", "changes", "message"),
    [
        (None, {}, "encoder_people must be said: same where anybody"),
        ("nobody", {}, "encoder_people must be same or other, got"),
        ("same", {"relation": "replace-one"}, "relation must be that of the encoder, add-remove"),
        ("same", {"max_records_per_person": 2}, "unit must be that of the encoder, one record"),
    ],
)
def test_what_does_not_compose_is_refused(released, people, changes, message):
    with pytest.raises(InputError, match=message):
        head_on(released, people, **changes)


def test_other_people_are_a_matter_of_add_remove(released):
    replaced = encoder(relation="replace-one")
    assert head_on(replaced, "same", relation="replace-one").terms.encoder is not None
    with pytest.raises(InputError, match="relation must be add-remove for the encoder of other"):
        head_on(replaced, "other", relation="replace-one")
    with pytest.raises(InputError, match="encoder_people must be said of a released encoder alone"):
        use_encoder(encoder_from("scattering"), "same")


def test_the_certificate_of_a_head_holds_that_of_its_encoder(released, tmp_path):
    save(head_on(released, "same"), tmp_path / "head")
    assert verify(tmp_path / "head").holds
    loaded = load(tmp_path / "head")
    assert loaded.terms.encoder.fingerprint == fingerprint_of(released)
    assert composed_guarantee(loaded).grade is Grade.DECLARED  # a file proves nothing
    assert composed_guarantee(loaded).epsilon == pytest.approx(
        composed_guarantee(head_on(released, "same")).epsilon
    )


def forged(head, change):
    """The head with another certificate of its encoder."""
    used = head.terms.encoder
    document = used.document
    change(document)
    claim = Guarantee.from_dict(document["guarantee"])
    other = dataclasses.replace(used, certificate=json.dumps(document), guarantee=claim)
    return dataclasses.replace(head, terms=dataclasses.replace(head.terms, encoder=other))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (
            lambda document: document["scales"].update(clusters=document["scales"]["clusters"] / 2),
            "of the encoder: the noise gives epsilon",
        ),
        (lambda document: document["guarantee"].update(checked=[]), "of the encoder: the lines"),
        (lambda document: document["numbers"].update(ridge=9.0), "of the encoder: ridge is 9"),
    ],
)
def test_a_forged_certificate_of_the_encoder_is_found(released, tmp_path, change, problem):
    head = head_on(released, "same")
    save(forged(head, change), tmp_path / "head")
    found = verify(tmp_path / "head")
    assert not found.holds
    assert problem in " ".join(found.problems)


def test_an_encoder_on_an_encoder_is_refused(released):
    data = cached_features(table(), ReleasedEncoder(released), folder=False)
    terms = Terms(
        epsilon=1.0, delta=1e-5, relation="add-remove", encoder=use_encoder(released, "same")
    )
    request = ReleaseRequest(terms=terms, records=300, recipe="prototypes")
    with pytest.raises(InputError, match="encoder must be made of records"):
        release_encoder(data, request)
    with pytest.raises(InputError, match="method must be one of"):
        release_encoder(data, ReleaseRequest.of(**BUDGET, recipe="class-means"))


def test_persons_are_the_unit_where_they_are_named():
    named = table(labels=None, classes=(), persons=np.arange(300) // 3)
    request = ReleaseRequest.of(**BUDGET, recipe="prototypes", **SMALL)
    assert release_encoder(named, request).terms.unit == "one person with at most 1 record"


def estimator(released, **changes):
    public = BUDGET | {"epsilon": 1.0, "classes": ("no", "yes"), "encoder": released}
    return ClassMeansHead(**(public | {"encoder_people": "same"} | changes))


def test_an_estimator_learns_on_a_released_encoder(released, tmp_path):
    names = np.array(["no", "yes"])[LABELS]
    save(released, tmp_path / "encoder")
    for given in (released, ReleasedEncoder(released), str(tmp_path / "encoder")):
        fitted = clone(estimator(given)).fit(ROWS, names)
        told = fitted.released_
        assert told.terms.encoder.people == "same"
        assert told.features == released.transform(ROWS[:1]).shape[1]
        both = fitted.composed_guarantee_
        assert 1.0 < both.epsilon <= 3.0
        features = ReleasedEncoder(released).encode(ROWS).astype(np.float64)
        assert np.array_equal(fitted.predict(ROWS), told.predict(features))
        assert fitted.guarantee_.grade is Grade.PROVEN
        save(told, tmp_path / "head")
        assert verify(tmp_path / "head").holds
    assert estimator(None, encoder_people=None).fit(ROWS, names).composed_guarantee_ is None


def test_a_regression_learns_on_one_too(released):
    public = BUDGET | {"bound": 2.0, "target_bound": 3.0, "encoder": released}
    model = AdaSSPRegressor(**public, encoder_people="other").fit(ROWS, ROWS[:, 0])
    assert model.predict(ROWS).shape == (300,)
    assert model.composed_guarantee_.epsilon == 2.0


def test_estimators_say_what_an_encoder_must_be(released, monkeypatch):
    names = np.array(["no", "yes"])[LABELS]
    with pytest.raises(InputError, match="encoder_people must be said"):
        estimator(released, encoder_people=None).fit(ROWS, names)
    with pytest.raises(InputError, match="reticent protect --encoder"):
        estimator("scattering").fit(ROWS, names)
    head = estimator(released).fit(ROWS, names).released_
    with pytest.raises(InputError, match="must be a release of an encoder"):
        estimator(head).fit(ROWS, names)
    monkeypatch.setattr("reticent.protect.learner.is_own", lambda recipe: False)
    with pytest.raises(InputError, match="of the package's own recipes"):
        estimator(released).fit(ROWS, names)


def test_the_guarantee_of_an_encoder_is_that_of_its_certificate(released):
    cheap = release_mean(
        ROWS, bound=1.0, records=300, epsilon=0.01, delta=1e-5, relation="add-remove"
    )
    assert cheap.guarantee.grade is Grade.PROVEN
    used = use_encoder(released, "same")
    with pytest.raises(InputError, match="guarantee of the encoder must be that of its certifi"):
        dataclasses.replace(used, guarantee=cheap.guarantee)
    document = used.document | {"guarantee": cheap.guarantee.to_dict()}
    forged = UsedEncoder.of("same", used.fingerprint, document, cheap.guarantee)
    terms = Terms(epsilon=1.0, delta=1e-5, relation="add-remove", encoder=forged)
    request = ReleaseRequest(terms=terms, records=300, recipe="class-means")
    data = cached_features(table(), ReleasedEncoder(released), folder=False)
    with pytest.raises(InputError, match="encoder must hold by its own numbers"):
        composed_guarantee(release_table(data, request))


def test_other_noise_beside_a_proven_guarantee_is_not_composed_as_proven(released):
    """A certificate that names more noise than there was would make both cost less."""
    used = use_encoder(released, "same")
    document = used.document
    document["scales"] = {name: 1000 * scale for name, scale in document["scales"].items()}
    honest, data = (
        head_on(released, "same"),
        cached_features(table(), ReleasedEncoder(released), folder=False),
    )
    for forged in (
        UsedEncoder.of("same", used.fingerprint, document, released.guarantee),
        dataclasses.replace(used, certificate=json.dumps(document)),
    ):
        terms = Terms(epsilon=1.0, delta=1e-5, relation="add-remove", encoder=forged)
        head = release_table(data, ReleaseRequest(terms=terms, records=300, recipe="class-means"))
        assert composed_guarantee(head).grade is Grade.DECLARED
    assert composed_guarantee(honest).grade is Grade.PROVEN


def test_an_encoder_on_an_encoder_is_no_part_of_two(released):
    """Three releases would be composed as if they were two."""
    rows = released.transform(ROWS)
    terms = Terms(**NUMBERS, encoder=use_encoder(released, "same"))
    recipe = RECIPES["prototypes"].planned(
        terms, records=300, features=rows.shape[1], classes=0, **SMALL
    )
    second = release_records(recipe, terms, rows, np.zeros(300))
    with pytest.raises(InputError, match="encoder must be made of records alone"):
        use_encoder(second, "same")


class Cheap:
    """Another's guarantee, but for its ε."""

    def __init__(self, own):
        self._own = own

    def __getattr__(self, name):
        return 1e-9 if name == "epsilon" else getattr(self._own, name)


def test_what_is_no_guarantee_is_refused(released):
    used = use_encoder(released, "other")
    with pytest.raises(InputError, match="must have a certificate and a Guarantee"):
        UsedEncoder.of("other", used.fingerprint, used.document, Cheap(released.guarantee))
