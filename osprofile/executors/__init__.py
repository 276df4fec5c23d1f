"""The protocols that run jobs on target systems; none knows another."""
