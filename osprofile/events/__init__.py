"""What schedulers say happened to jobs: the events, and the monitor that tells them on."""
