"""Python functions as jobs: `osprofile.Executor`. See docs/functions.md."""
