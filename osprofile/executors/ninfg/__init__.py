"""The Ninf-G Invoke Server: GridRPC clients start their executables through a profile."""
