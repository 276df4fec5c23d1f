"""The scheduler event generator, its sources, and the fork starter."""
