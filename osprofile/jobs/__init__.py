"""Jobs on a target system: submit them, watch them, and keep a record of them.

What programs open, executors and the command line too:

- `client`: `JobClient`, one record and the target systems of its jobs
- `session`: `JobSession`, one target system for programs that are not asynchronous
- `target_system`: `TargetSystem`, the interface to the jobs of one target system

What they say:

- `fields`: `JobDescription`, the table of what a job is; `request`: the profile's fields that it becomes
- `state`: `JobState`, `EndCause`, `JobStatus`, `JobEvent`, and the states of nodes and queues
- `arrays`: arrays and their tasks; `diagnosis`: what a person can do about a failure
- `profiles`: profiles by name, the fields that a request may set, and the profiles that are kept for jobs
- `timing`: the times that a site may set, and the clocks
- `monitor`: `JobMonitor`, jobs followed by a stream of events alone

The rooms behind them, in the order of a job's life:

- `submit`: check a job, wait while the site allows no more, record and start it once
- `files`: copy files to a job and back, within its own directory
- `shell`: run scripts in the target's shell, and read what they print
- `watch`: ask and listen, decide what has changed, tell it
- `record`: the record of jobs
"""
