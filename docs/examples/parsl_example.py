"""Words in files, counted by Parsl's workers on a batch system: parsl_example.py [PROFILE]."""

import sys

import parsl
from parsl.config import Config
from parsl.executors import HighThroughputExecutor

from osprofile.plugins.parsl import OSProfileProvider


@parsl.bash_app
def write_words(number: int, outputs: list[parsl.File]) -> str:
    """Return the command that writes a file."""
    return f"yes word | head -n {number} > {outputs[0].filepath}"


@parsl.python_app
def count_words(inputs: list[parsl.File]) -> int:
    """Return the number of words in a file."""
    with open(inputs[0].filepath) as file:
        return len(file.read().split())


if __name__ == "__main__":
    provider = OSProfileProvider(sys.argv[1] if len(sys.argv) > 1 else "linux", walltime="00:10:00")
    # On a cluster: an address of this machine that its nodes can reach.
    executor = HighThroughputExecutor(
        address="127.0.0.1", loopback_address="127.0.0.1", max_workers_per_node=1, provider=provider
    )
    with parsl.load(Config(executors=[executor], exit_mode="wait")):
        files = [
            write_words(number, outputs=[parsl.File(f"words.{number}")]).outputs[0] for number in (1, 20)
        ]
        print([count_words(inputs=[file]).result() for file in files])
