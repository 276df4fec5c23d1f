"""Submit jobs: each once, whatever is cut off."""
