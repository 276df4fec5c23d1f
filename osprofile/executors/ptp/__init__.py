"""The Eclipse PTP resource-manager proxy: machines, nodes, queues, jobs and processes, told to Eclipse."""
