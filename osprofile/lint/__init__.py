"""The linter: the rules for profiles and the table of their codes."""

from osprofile.lint.linter import Findings, examine_file, lint_file, lint_profile
from osprofile.lint.rules import RULES, Rule

__all__ = ["RULES", "Findings", "Rule", "examine_file", "lint_file", "lint_profile"]
