"""Follow jobs: ask and listen, decide what has changed, tell and record it."""
