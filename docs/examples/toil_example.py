"""Count words with Toil: toil_example.py JOBSTORE --batchSystem osprofile --osprofileProfile linux."""

from typing import Any

from toil.common import Toil
from toil.job import Job

NEEDS = {"cores": 1, "memory": "100M", "disk": "1M"}


def count_all(job: Job, texts: list[str]) -> Any:  # noqa: ANN401  # Toil puts the number there
    """Add a job for each text, and one that runs when they have ended; return its result."""
    counts = [job.addChildFn(count_words, text, **NEEDS).rv() for text in texts]
    return job.addFollowOnFn(add, counts, **NEEDS).rv()


def count_words(text: str) -> int:
    """Return the number of words in a text."""
    return len(text.split())


def add(numbers: list[int]) -> int:
    """Return the sum of numbers."""
    return sum(numbers)


if __name__ == "__main__":
    options = Job.Runner.getDefaultArgumentParser().parse_args()
    root = Job.wrapJobFn(count_all, ["one", "one two", "one two three"], **NEEDS)
    with Toil(options) as toil:
        print("words:", toil.restart() if options.restart else toil.start(root))
