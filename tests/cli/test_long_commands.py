"""What commands that take minutes print, from stored results: the texts of figures of one day.

The whole text at 60, 80 and 120 columns is compared with a file, as in ``test_terminal``; after a
wanted change: UPDATE_SNAPSHOTS=1 pytest tests/cli/test_long_commands.py.
"""

import os
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from reticent.attacks import Access, Records, Scores, Threat
from reticent.audit import measured_attack
from reticent.audit.attack_plan import AttackPlan
from reticent.audit.attack_run import Attacked
from reticent.audit.error_counts import clopper_pearson_epsilon
from reticent.audit.mechanism import FunctionAudit
from reticent.audit.release import ClaimsAudit
from reticent.audit.release_audit import ReleaseAudit, TranscriptAudit
from reticent.cli.attack_output import print_attacked, print_rest
from reticent.cli.audit import _finish, _finish_function, _finish_releases
from reticent.cli.compare import compare
from reticent.cli.compare_protections import print_protections
from reticent.cli.plan import plan
from reticent.cli.pretrain import _print as print_pretrained
from reticent.cli.release_output import print_released
from reticent.cli.serve import _start
from reticent.cli.summary import print_summary
from reticent.cli.task_run import print_task_summary
from reticent.guarantee import Guarantee
from reticent.protect import RECIPES, Terms
from reticent.protect.noise_scales import noise_plan
from reticent.protect.release import claim_of
from reticent.results import write_results
from reticent.results.conversions import claim_of as stored_claim
from reticent.results.protections import Protection, Protections
from reticent.results.recalls import with_losses
from reticent.results.task_results import read_task_results
from reticent.service.serving import Listen, ServeSpec
from tests.cli.test_terminal import SCHEMA, SNAPSHOTS, WIDE, WIDTHS, assert_fits
from tests.report.documents import SAMPLE
from tests.report.sample import attack, by_class, interval

STORED = Path(__file__).parent / "stored"
TERMS = Terms(epsilon=2.0, delta=1e-5, relation="add-remove")
CLAIM = Guarantee(epsilon=2.0, delta=1e-5, relation="add-remove")


def printed_run():
    print_summary(SAMPLE(), Path("run"), ["report.html", "results.json"])


def printed_task_run():
    found = read_task_results(STORED / "regression.json")
    print_task_summary(found, Path("run"), ["report.html", "results.json", "released.json"])


def printed_attack():
    """Scores of always the same draws."""
    rng, inside = np.random.default_rng(0), np.arange(2400) < 1200
    threats = {"loss": Threat(access=Access.SCORES), "gap": Threat(access=Access.LABELS)}
    scores = {
        name: Scores(attack=name, threat=threat, values=rng.normal(0.4 * inside, 1.0))
        for name, threat in threats.items()
    }
    labels = np.array(["Sjögren's syndrome", "nothing found at all"])[np.arange(2400) % 2]
    found = Attacked(
        reports={
            name: measured_attack(one, inside, confidence=0.975) for name, one in scores.items()
        },
        scores=scores,
        records=Records(np.zeros((2400, 1)), labels),
        inside=inside,
        confidences=None,
        skipped={"rmia-online": "population must be records to compare with, got none"},
        notes=("12 records are copies of others on their side",),
        confidence=0.95,
    )
    print_attacked(found, f"released gaussian weights, {CLAIM}", AttackPlan(confidence=0.95))
    print_rest(found, True, Path("scores.csv"))


def bound(missed):
    """Of 1,000 runs in each world 10 are wrong in the one, and so many in the other."""
    return clopper_pearson_epsilon(10, 1000, missed, 1000, delta=1e-5, beta=0.05)


def of_head():
    return ReleaseAudit(
        claim=CLAIM, mechanism="gaussian", pair="without a record, and with it", tightness=0.401,
        analytic=0.74, exact=True, measured=bound(980), runs=20_000, finds_half=False,
    )  # fmt: skip


def of_sums():
    return TranscriptAudit(
        claim=CLAIM, mechanism="gaussian", queries=2, tightness=0.998, analytic=1.94, exact=False,
        mu=0.51, sealed=True, measured=bound(990), conditional=None, runs=50,
        needed=(None, 304_168),
    )  # fmt: skip


def printed_audit():
    _finish_releases(ClaimsAudit(audits={"one": of_head(), "other": of_sums()}, beta=0.05), False)


def printed_audit_of_function():
    found = FunctionAudit(
        epsilon=1.0, delta=1e-5, bound=bound(972), event="the first output is above 0.25",
        runs=40_000, reach=0.5,
    )  # fmt: skip
    _finish_function(found, False)


def printed_audit_of_one():
    _finish(of_sums(), False)


def printed_compare(folder):
    write_results(SAMPLE(), folder / "results.json")
    compare(folder / "results.json", folder / "results.json")


def protection(recipe, accuracy, recall):
    return Protection(
        recipe=recipe, mechanism="gaussian", place="gradients", claim=stored_claim(CLAIM),
        accuracy=interval(accuracy, 0.01), draws=5,
        by_class=with_losses(by_class(recall), by_class(0.9)), seconds=0.2,
        attacks=(attack("loss", 0.1),),
    )  # fmt: skip


def printed_protections():
    found = Protections(
        name="patients", private=1500, test=1000, features=64, classes=3, epsilon=2.0, delta=1e-5,
        relation="add-remove", unprotected=interval(0.95, 0.01), unprotected_by_class=by_class(0.9),
        unprotected_attacks=(attack("loss", 0.4),),
        rows=(protection("noisy-gradient", 0.93, 0.85), protection("class-means", 0.9, 0.1)),
        skipped={"objective, δ = 0": "mechanism must be gaussian, got laplace"},
        notes=("AUC is that of the attack that found most (0.5 is guessing).",),
    )  # fmt: skip
    print_protections(found, [Path("out/protections.html")])


@cache
def released_by(name, **options):
    """As a release prints itself: its claim and its scales follow from public numbers."""
    recipe = RECIPES[name].planned(TERMS, records=60_000, features=784, **options)
    noises = noise_plan(recipe, TERMS)
    return SimpleNamespace(
        recipe=recipe, terms=TERMS, mechanism=recipe.mechanism,
        guarantee=claim_of(recipe, TERMS, noises),
        scales={step: one.noise.scale for step, one in noises.items()},
    )  # fmt: skip


def printed_train():
    found = released_by("network", classes=10, shape="28x28x1", architecture="conv", batch=60_000)
    print_released(found, Path("net.safetensors"), Path("net.json"), False)


def printed_private_pretrain():
    found = released_by("prototypes", classes=0)
    print_released(found, Path("encoder.safetensors"), Path("encoder.json"), False)


def printed_pretrain():
    print_pretrained(
        {"images": 50_000, "spec": {"epochs": 20}, "seconds": 812.4, "loss": 1.234,
         "contrastive_accuracy": 0.871, "fingerprint": "0" * 32,
         "encoder": "encoder.safetensors", "log": "encoder.jsonl"}
    )  # fmt: skip


def printed_serve(monkeypatch):
    """Until it listens: nothing is asked here."""
    monkeypatch.setattr(
        "reticent.service.serving.released_model",
        lambda path, name: SimpleNamespace(guarantee=CLAIM),
    )
    monkeypatch.setattr("reticent.service.serving.prepared", lambda *_: None)
    monkeypatch.setattr("reticent.service.listening.run", lambda *_: None)
    monkeypatch.setattr("reticent.service.serving.Listen.bound", lambda _: Bound())
    _start(ServeSpec(released=Path("released"), name="model"), Listen(port=8000))


class Bound:
    """A socket that is not opened."""

    def __enter__(self):
        return SimpleNamespace(getsockname=lambda: ("127.0.0.1", 8000))

    def __exit__(self, *_):
        return None


def printed_plan_of_task(folder):
    facts = SCHEMA.replace('classes = ["Sjögren\'s syndrome", "nothing found at all"]',
                           'type = "number"\nrange = [0, 100]\nunit = "points"')  # fmt: skip
    (folder / "table.toml").write_text(facts, encoding="utf-8")
    os.chdir(folder)
    plan(schema=Path("table.toml"), epsilon=2.0, delta=1e-5, relation="add-remove", records=900)


PRINTED = {
    "run": printed_run,
    "run-task": printed_task_run,
    "attack": printed_attack,
    "audit": printed_audit,
    "audit-one": printed_audit_of_one,
    "audit-function": printed_audit_of_function,
    "compare": printed_compare,
    "compare-protections": printed_protections,
    "train": printed_train,
    "pretrain": printed_pretrain,
    "pretrain-private": printed_private_pretrain,
    "serve": printed_serve,
    "plan-task": printed_plan_of_task,
}


SLOW = {"train"}
"""Whose recipe needs torch."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in PRINTED]
)
def test_long_commands_print_what_they_did(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    given = {"printed_compare": (tmp_path,), "printed_serve": (monkeypatch,),
             "printed_plan_of_task": (tmp_path,)}  # fmt: skip
    show, texts = PRINTED[name], {}
    for width in (WIDE, *WIDTHS):
        monkeypatch.setenv("COLUMNS", str(width))
        capsys.readouterr()
        show(*given.get(show.__name__, ()))
        texts[width] = capsys.readouterr().out
    for width in WIDTHS:
        assert_fits(texts[width], texts[WIDE], width)
        shown = "".join(f"{line.rstrip()}\n" for line in texts[width].splitlines())
        path = SNAPSHOTS / f"{name}-{width}.txt"
        if os.environ.get("UPDATE_SNAPSHOTS"):
            path.write_text(shown, encoding="utf-8")
        assert shown == path.read_text(encoding="utf-8")
