"""The record of jobs: the store, its file, and the names in it."""
