"""The servers of the protocols that run jobs on target systems; none imports another."""
