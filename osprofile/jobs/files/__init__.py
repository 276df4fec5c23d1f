"""Copy files to jobs and from them, while a job's directory is its user's own."""
