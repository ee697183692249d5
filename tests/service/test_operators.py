"""Metrics, overview and the operator's page; in a real browser where one is installed."""

import http.client
import os
import shutil
import threading
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect, sync_playwright

from reticent.service.client import Service, ServiceError
from reticent.service.detector import Detector
from tests.report.test_browser import BROWSERS, QUIET
from tests.service.conftest import rows


@pytest.fixture
def service(protected, tmp_path):
    return protected(str(tmp_path / "l.sqlite"))


def got(service, path, key=None):
    at = urlsplit(service.url)
    connection = http.client.HTTPConnection(at.hostname, at.port, timeout=30)
    connection.request(
        "GET", path, headers={} if key is None else {"Authorization": f"Bearer {key}"}
    )
    response = connection.getresponse()
    found = response.status, response.read().decode(), response.headers
    connection.close()
    return found


def test_metrics_are_the_operators_and_hold_nothing_of_a_record(service):
    admin = service.client("the operator", scopes=("ask", "admin"))
    admin.ask(rows(3))
    admin.ask(rows(3)[1:])
    got(service, "/zqxjkv", admin._key)
    status, text, headers = got(service, "/metrics", admin._key)
    assert (status, headers["content-type"].split(";")[0]) == (200, "text/plain")
    lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if line[0] != "#")
    assert lines['reticent_answers_total{cost="charged"}'] == "3.0"
    assert lines['reticent_answers_total{cost="kept"}'] == "2.0"
    assert lines['reticent_requests_total{route="/v1/answers",status="200"}'] == "2.0"
    assert lines['reticent_requests_total{route="other",status="404"}'] == "1.0"
    assert (lines["reticent_budget_answers"], lines["reticent_budget_answers_used"]) == ("50", "3")
    assert "zqxjkv" not in text
    assert got(service, "/metrics")[0] == 401
    asks = service.client("asks", scopes=("ask", "read"))
    assert got(service, "/metrics", asks._key)[0] in (401, 403)


def test_the_overview_is_the_operators(service):
    admin = service.client("the operator", scopes=("ask", "admin"), limit=9)
    admin.ask(rows(3))
    found = admin.call("GET", "/v1/overview")
    assert (found["queries"], found["used"]) == (50, 3)
    assert found["clients"] == [{"name": "the operator", "limit": 9, "used": 3}]
    assert sum(hour["answers"] for hour in found["over_time"]) == 3
    with pytest.raises(ServiceError, match="unauthorized"):
        Service(service.url).call("GET", "/v1/overview")


def test_an_alarm_is_the_operators_and_changes_no_answer(protected, tmp_path, caplog):
    service = protected(str(tmp_path / "l.sqlite"), detector=Detector())
    alice = service.client("alice", scopes=("ask", "admin"))
    told = [alice.ask(rows(1)) for _ in range(40)]
    assert len({str((one["labels"], one["left"])) for one in told}) == 1
    (alarm,) = alice.call("GET", "/v1/overview")["alarms"]
    assert alarm.startswith("alice: exact repeats, after ")
    assert alarm in caplog.text
    assert (
        'reticent_alarms_total{kind="exact repeats"} 1.0' in got(service, "/metrics", alice._key)[1]
    )


def test_the_detector_looks_after_the_reply_has_left(protected, tmp_path):
    """Else the time of a reply would tell whether there was an alarm."""
    told, arrived = threading.Event(), []

    class Slow(Detector):
        def see(self, client, rows):
            arrived.append(told.wait(10))

    service = protected(str(tmp_path / "l.sqlite"), detector=Slow())
    service.client("alice").ask(rows(1))
    told.set()
    service.client("bob")
    assert got(service, "/v2/health/live")[0] == 200  # after what the detector waited for
    assert arrived == [True]


def test_a_detector_that_fails_is_one_line_of_the_log(protected, tmp_path, caplog):
    class Broken(Detector):
        def see(self, client, rows):
            raise RuntimeError("zqxjkv")

    service = protected(str(tmp_path / "l.sqlite"), detector=Broken())
    alice = service.client("alice")
    assert alice.ask(rows(1))["charged"] == 1
    assert alice.ask(rows(1, seed=1))["charged"] == 1
    assert "detector failed: RuntimeError" in caplog.text
    assert "zqxjkv" not in caplog.text


def test_the_page_lets_nothing_else_in(service):
    status, text, headers = got(service, "/")
    assert status == 200
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


@pytest.mark.browser
@pytest.mark.slow
def test_the_page_in_a_browser(service):
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    assert found, "no Chromium: install it (Debian: apt install chromium), or -m 'not browser'"
    admin = service.client("the <b>operator</b>", scopes=("ask", "admin"), limit=9)
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    said, asked = [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=[*QUIET, *sandbox])
        page = browser.new_page()
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(service.url)
        page.fill("#key", "wrong")
        page.click("#enter button")
        expect(page.locator("#said")).to_contain_text("key that holds")
        page.fill("#key", admin._key)
        page.click("#enter button")
        page.wait_for_selector("#shown:not([hidden])")
        assert "proven" in page.inner_text("#promise")
        page.fill("#row", "0.1, 0.2, 0.3, 0.4, 0.5")
        page.click("#ask button")
        expect(page.locator("#answer")).to_contain_text("labels")
        expect(page.locator("#budget")).to_contain_text("1 of 50 answers")
        assert "the <b>operator</b>" in page.inner_text("#clients")
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            assert Axe().run(page).response["violations"] == []
        browser.close()
    assert said == []
    assert all(url.startswith(service.url) for url in asked)
