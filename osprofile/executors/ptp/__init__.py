"""The Eclipse PTP resource-manager proxy: machines, nodes, queues, jobs and processes for Eclipse."""
