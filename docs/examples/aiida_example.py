"""Add two numbers by a job of AiiDA: aiida_example.py [PROFILE]."""

import os
import sys

from aiida import engine, orm
from aiida.calculations.arithmetic.add import ArithmeticAddCalculation
from aiida.manage import get_manager
from aiida.storage.sqlite_temp import SqliteTempBackend

if __name__ == "__main__":
    # With an AiiDA profile of your own, as that of `verdi presto`, write `aiida.load_profile()`.
    get_manager().load_profile(SqliteTempBackend.create_profile("example"))
    computer = orm.Computer(
        label="here",
        hostname="localhost",
        workdir=os.path.abspath("jobs"),  # on a cluster, where its nodes see it
        transport_type="core.local",
        scheduler_type="osprofile",
    )
    computer.set_prepend_text(f"#OSPROFILE --profile {sys.argv[1] if len(sys.argv) > 1 else 'linux'}")
    computer.store()
    computer.configure(use_login_shell=False)  # incarnate is found through the PATH of this shell
    computer.set_minimum_job_poll_interval(1)  # seconds between two queries; for a cluster, 10 or more
    code = orm.InstalledCode(computer=computer, filepath_executable="/bin/bash", label="bash").store()
    options = {
        "resources": {"num_machines": 1, "num_mpiprocs_per_machine": 1},
        "max_wallclock_seconds": 600,
    }
    results, node = engine.run_get_node(
        ArithmeticAddCalculation,
        code=code,
        x=orm.Int(1),
        y=orm.Int(2),
        metadata={"options": options},
    )
    print(results["sum"].value, node.exit_status)
