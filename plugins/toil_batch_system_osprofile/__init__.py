"""The batch system `osprofile` of Toil, which looks for plugins by the beginning of this package's name."""

from toil.batchSystems.registry import add_batch_system_factory


def _get_class() -> type[object]:
    """Return the class; Toil calls this for the options of all batch systems."""
    from osprofile.plugins.toil import OSProfileBatchSystem

    return OSProfileBatchSystem


add_batch_system_factory("osprofile", _get_class)
