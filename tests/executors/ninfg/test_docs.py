"""The manual's table of attributes, and its configuration files, against the parsers of both sides."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from osprofile.executors.ninfg.attributes import ATTRIBUTES
from osprofile.jobs.fields import FIELD_BY_ATTRIBUTE

PAGE = (Path(__file__).parents[3] / "docs/ninfg.md").read_text()

# What the parser of the C client of version 5.0.0 knows in its configuration file, by section.
CLIENT = {
    "CLIENT": {
        "hostname", "save_sessionInfo", "loglevel", "loglevel_ninfgProtocol",
        "loglevel_ninfgInternal", "loglevel_ninfgGrpc", "log_filePath", "log_suffix", "log_nFiles",
        "log_maxFileSize", "log_overwriteDirectory", "tmp_dir", "refresh_credential",
        "invoke_server_log", "client_communication_proxy_log", "information_service_log",
        "fortran_compatible", "handling_signals", "listen_port",
    },
    "FUNCTION_INFO": {
        "hostname", "funcname", "path", "staging", "backend", "session_timeout",
        "transferTimeout_argument", "transferTimeout_result", "transferTimeout_callbackArgument",
        "transferTimeout_callbackResult",
    },
    "INVOKE_SERVER": {"type", "path", "max_jobs", "log_filePath", "status_polling", "option"},
    "SERVER": {
        "hostname", "tag", "port", "invoke_server", "invoke_server_option", "communication_proxy",
        "communication_proxy_staging", "communication_proxy_path",
        "communication_proxy_buffer_size", "communication_proxy_option", "information_source_tag",
        "mpi_runNoOfCPUs", "keep_connection", "force_xdr", "jobmanager", "subject",
        "client_hostname", "job_startTimeout", "job_stopTimeout", "job_maxTime", "job_maxWallTime",
        "job_maxCpuTime", "job_queue", "job_project", "job_hostCount", "job_minMemory",
        "job_maxMemory", "job_rslExtensions", "heartbeat", "heartbeat_timeoutCount",
        "redirect_outerr", "tcp_nodelay", "tcp_connect_retryCount",
        "tcp_connect_retryBaseInterval", "tcp_connect_retryIncreaseRatio",
        "tcp_connect_retryRandom", "argument_transfer", "compress", "compress_threshold",
        "argument_blockSize", "workDirectory", "coreDumpSize", "commLog_enable",
        "commLog_filePath", "commLog_suffix", "commLog_nFiles", "commLog_maxFileSize",
        "commLog_overwriteDirectory", "debug", "debug_display", "debug_terminal", "debug_debugger",
        "debug_busyLoop", "environment",
    },
}  # fmt: skip

ROWS = [
    tuple(cell.strip() for cell in line.strip("|").split("|"))
    for line in PAGE.partition("| in the configuration file")[2].partition("\n\n")[0].splitlines()
    if "`" in line
]
QUOTED = re.compile(r"`([^`]+)`")


@pytest.mark.parametrize("row", ROWS, ids=[row[1] for row in ROWS])
def test_a_row_of_the_table(row: tuple[str, str, str]) -> None:
    """The first cell has the client's words, the second the server's, the third what it becomes."""
    client, wire, becomes = row
    words = QUOTED.findall(client)
    if words:
        assert {*words[1:]} <= CLIENT[words[0].strip("<>")]
    for name in QUOTED.findall(wire):
        assert FIELD_BY_ATTRIBUTE.get(ATTRIBUTES[name].description_field, "") in becomes


def test_the_table_has_each_attribute() -> None:
    assert {name for row in ROWS for name in QUOTED.findall(row[1])} == {*ATTRIBUTES}


def test_the_configuration_files_are_ones_that_the_client_reads() -> None:
    sections = re.findall(r"^<([A-Z_]+)>\n(.*?)^</\1>$", PAGE, re.DOTALL | re.MULTILINE)
    assert {name for name, _ in sections} == {"INVOKE_SERVER", "SERVER"}
    for name, content in sections:
        assert {line.split()[0] for line in content.splitlines()} <= CLIENT[name]
