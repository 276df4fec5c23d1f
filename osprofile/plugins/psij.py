"""PSI/J's executors `osprofile-PROFILE`: jobs of PSI/J (psij-python) on any batch system that has a profile.

    job = psij.Job(psij.JobSpec(executable="/bin/date"))
    psij.JobExecutor.get_instance("osprofile-slurm").submit(job)

See docs/plugins/psij.md. PSI/J finds the executors by the modules in the folder `plugins` of the source.
"""

import psij as _psij  # noqa: F401  # it imports the executor's module, which must not be half imported then

from osprofile.plugins.psij_executor import (
    OSProfileJobExecutor,
    get_executor_class,
    list_executors,
)

__all__ = ["OSProfileJobExecutor", "get_executor_class", "list_executors"]
