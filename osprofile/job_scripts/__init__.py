"""Job scripts of batch systems: what their directives ask for, as attributes and fields of a job."""
