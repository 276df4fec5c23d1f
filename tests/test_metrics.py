"""The metrics of a process: the text format, where it goes, and what is counted when something fails."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import threading
from typing import TYPE_CHECKING

import pytest
from prometheus_client.parser import text_string_to_metric_families

from osprofile.errors import ScriptFailedError, SettingError, StoreError
from osprofile.jobs.fields import JobDescription
from osprofile.jobs.record.store import Store
from osprofile.jobs.target_system import TargetSystem
from osprofile.metrics import METRICS, Destination, Metrics, TargetMetrics, export_metrics, parse_destination
from osprofile.profile.repository import Repository

if TYPE_CHECKING:
    from pathlib import Path

BROKEN = """<osp:Profile xmlns:osp="http://gpe.intel.com/osprs/profile" xmlns:idb="http://gpe.intel.com/idb"
  name="broken-{root.name}" extends="linux">
  <osp:UspaceRoot>{root}</osp:UspaceRoot>
  <osp:Delimiter>/</osp:Delimiter>
  <idb:Template name="START"><idb:Invocation name=""><idb:Body>: '&lt;EXECUTABLE/'/'\\''&gt;'
echo no disk &gt;&amp;2; exit 73</idb:Body></idb:Invocation></idb:Template>
  <idb:Template name="GET_JOB_STATUS"><idb:Invocation name="ALL"><idb:Body>exit 4</idb:Body></idb:Invocation>
  </idb:Template>
</osp:Profile>
"""


def test_the_text_is_read_as_it_was_counted() -> None:
    metrics = Metrics()
    names = ["linux", 'a "b"\\c', "two\nlines", "\u65e5"]
    for number, name in enumerate(names):
        metrics.add("osprofile_polls_total", number + 0.5, target=name, result="ok")
    for seconds in (0.005, 0.01, 0.2, 1000.0):
        metrics.observe("osprofile_poll_duration_seconds", seconds, target="t")
    metrics.set("osprofile_listed_jobs", 7.0, target="t")
    metrics.set("osprofile_listed_jobs", 6.0, target="t")
    families = {family.name: family for family in text_string_to_metric_families(metrics.format())}
    assert {name: family.type for name, family in families.items()} == {
        "osprofile_polls": "counter",
        "osprofile_poll_duration_seconds": "histogram",
        "osprofile_listed_jobs": "gauge",
    }
    assert all(family.documentation for family in families.values())
    polls = {sample.labels["target"]: sample.value for sample in families["osprofile_polls"].samples}
    assert polls == {name: number + 0.5 for number, name in enumerate(names)}
    durations = families["osprofile_poll_duration_seconds"].samples
    buckets = {s.labels["le"]: s.value for s in durations if s.name.endswith("_bucket")}
    assert (buckets["0.01"], buckets["0.1"], buckets["0.3"], buckets["300.0"], buckets["+Inf"]) == (
        2,
        2,
        3,
        3,
        4,
    )
    assert {s.name[-6:]: s.value for s in durations if "le" not in s.labels} == {
        "ds_sum": 1000.215,
        "_count": 4,
    }
    assert [sample.value for sample in families["osprofile_listed_jobs"].samples] == [6]


def test_several_threads_lose_no_count() -> None:
    metrics = Metrics()

    def count() -> None:
        for _ in range(20000):
            metrics.add("osprofile_polls_total")

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert metrics.sum("osprofile_polls_total") == 80000


def test_a_target_system_that_is_gone_has_no_gauges() -> None:
    target = TargetMetrics("test-of-gauges")
    target.gauges["osprofile_watched_jobs"] = lambda: 3.0
    assert METRICS.sum("osprofile_watched_jobs", target="test-of-gauges") == 3
    del target
    assert METRICS.sum("osprofile_watched_jobs", target="test-of-gauges") == 0


def test_failures_by_their_kind(tmp_path: Path) -> None:
    (tmp_path / "p.xml").write_text(BROKEN.format(root=tmp_path))
    profile = Repository().load_file(str(tmp_path / "p.xml"))
    name = profile.name

    async def main() -> None:
        async with TargetSystem(profile) as target:
            with pytest.raises(ScriptFailedError):
                await target.submit(JobDescription(executable="/bin/true"), strict=False)
            with pytest.raises(ScriptFailedError):
                await target.poll()

    asyncio.run(main())
    for metric, labels in (
        ("osprofile_submissions_total", {}),
        ("osprofile_polls_total", {}),
        ("osprofile_scripts_total", {"template": "START"}),
        ("osprofile_scripts_total", {"template": "GET_JOB_STATUS"}),
    ):
        assert METRICS.sum(metric, target=name, result="ScriptFailed", **labels) == 1
        assert METRICS.sum(metric, target=name, result="ok") == 0
    assert METRICS.sum("osprofile_last_poll_timestamp_seconds", target=name) == 0


def test_errors_of_the_record(tmp_path: Path) -> None:
    before = METRICS.sum("osprofile_record_errors_total")
    (tmp_path / "s").write_bytes(b"no database" * 1000)
    with pytest.raises(StoreError):
        Store(str(tmp_path / "s"))
    assert METRICS.sum("osprofile_record_errors_total") == before + 1


def test_places_for_metrics(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOGNAME", "me")
    assert parse_destination("") == Destination()
    assert parse_destination("127.0.0.1:9200") == Destination(host="127.0.0.1", port=9200)
    assert parse_destination("localhost:0") == Destination(host="localhost", port=0)
    assert parse_destination("x-{user}.{pid}.prom") == Destination(path=f"{tmp_path}/x-me.{os.getpid()}.prom")
    for text in ("9200", "0.0.0.0:9200", "[::]:9200", "/var/lib/x", "127.0.0.1:65536", "127.0.0.1:-1"):
        with pytest.raises(SettingError, match=r"neither a file NAME\.prom nor 127\.0\.0\.1:PORT"):
            parse_destination(text)


def test_a_port_that_is_taken(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"), export_metrics(Destination(host="127.0.0.1")):
        (message,) = caplog.messages
        port = int(message.partition("127.0.0.1:")[2].partition("/")[0])
        with export_metrics(Destination(host="127.0.0.1", port=port)):
            assert f"metrics are not served at 127.0.0.1:{port}: Address already in use" in caplog.messages


def test_strange_and_slow_readers(caplog: pytest.LogCaptureFixture) -> None:
    with contextlib.ExitStack() as stack:
        stack.enter_context(caplog.at_level("INFO"))
        stack.enter_context(export_metrics(Destination(host="127.0.0.1")))
        port = int(caplog.messages[0].partition("127.0.0.1:")[2].partition("/")[0])

        def ask(request: str) -> bytes:
            with socket.create_connection(("127.0.0.1", port), 60) as connection:
                connection.sendall(request.encode())
                return b"".join(iter(lambda: connection.recv(65536), b""))

        good = f"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"
        assert ask(good).startswith(b"HTTP/1.1 200 OK\r\n")
        assert b" 403 " in ask(good.replace("127.0.0.1:", "site.example.org:"))
        assert b" 405 " in ask(good.replace("GET", "POST"))
        assert b" 404 " in ask(good.replace("metrics", "other"))
        assert b" 400 " in ask("\r\n\r\n")
        slow = [stack.enter_context(socket.create_connection(("127.0.0.1", port), 60)) for _ in range(70)]
        assert b" 503 " in slow[-1].recv(100)
        for connection in slow:
            connection.close()
        while True:  # until the server has seen that they are gone
            with contextlib.suppress(ConnectionError):
                if ask(good).startswith(b"HTTP/1.1 200 OK\r\n"):
                    break
