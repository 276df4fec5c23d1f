# PSI/J looks for it here
"""Tells PSI/J of the executors `osprofile-PROFILE`; PSI/J runs each module of a folder of this name."""

from packaging.version import Version
from psij.descriptor import Descriptor

import osprofile
from osprofile.plugins.psij_executor import list_executors

__PSI_J_EXECUTORS__ = [
    Descriptor(
        name=name,
        nice_name=f"osprofile, profile {profile}",
        version=Version(osprofile.__version__),
        cls=f"osprofile_psij.{class_name}",
    )
    for name, class_name, profile in list_executors()
]
