"""The linter: the rules about a profile, and one table of their codes."""

from osprofile.lint.linter import Findings, examine, lint_file, lint_profile
from osprofile.lint.rules import RULES, Rule

__all__ = ["RULES", "Findings", "Rule", "examine", "lint_file", "lint_profile"]
