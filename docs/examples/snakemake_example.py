"""Run a workflow of Snakemake through a profile, by Snakemake's interface for Python."""  # a program

import sys
from pathlib import Path

from snakemake.api import SnakemakeApi
from snakemake.settings.types import OutputSettings, RemoteExecutionSettings, ResourceSettings

from osprofile.plugins.snakemake import ExecutorSettings

SNAKEFILE = """
rule all:
    input: "total.txt"

rule count:
    output: "{name}.txt"
    threads: 2
    resources: runtime=5
    shell: "seq {threads} > {output}"

rule add:
    input: "one.txt", "two.txt"
    output: "total.txt"
    shell: "cat {input} | wc -l > {output}"
"""


def main(profile: str = "linux") -> None:
    """Write a workflow into the current directory, run it, and print its result."""
    snakefile = Path("Snakefile")
    snakefile.write_text(SNAKEFILE)
    with SnakemakeApi(OutputSettings()) as snakemake:
        workflow = snakemake.workflow(ResourceSettings(nodes=2), snakefile=snakefile)
        workflow.dag().execute_workflow(
            executor="osprofile",
            executor_settings=ExecutorSettings(profile=profile),
            remote_execution_settings=RemoteExecutionSettings(seconds_between_status_checks=1),
        )
    print("lines:", Path("total.txt").read_text().strip())


main(*sys.argv[1:])
