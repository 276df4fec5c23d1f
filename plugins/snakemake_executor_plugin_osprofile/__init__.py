"""The executor plugin `osprofile` of Snakemake, which looks for plugins by the name of this package."""

from osprofile.plugins.snakemake import Executor, ExecutorSettings, common_settings

__all__ = ["Executor", "ExecutorSettings", "common_settings"]
