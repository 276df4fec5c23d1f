"""The linter: the rules about a profile, and one table of their codes."""

from osprofile.lint.linter import lint_file, lint_profile
from osprofile.lint.rules import RULES, Rule

__all__ = ["RULES", "Rule", "lint_file", "lint_profile"]
