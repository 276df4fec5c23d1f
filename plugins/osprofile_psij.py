# PSI/J looks for it here
"""The classes of PSI/J's executors, one for each profile; see osprofile/plugins/psij.py.

PSI/J looks for this module beside the folder `psij-descriptors`, and runs it once for each executor.
"""

from osprofile.plugins.psij_executor import get_executor_class as __getattr__

__all__ = ["__getattr__"]
