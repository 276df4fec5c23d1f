"""Jobs on a target system: submit them, watch them, and keep a record of them.

For executors and the command line, which import no other module of this package:

- `session`: `JobSession`, the same for programs that are not asynchronous
- `target_system`: `TargetSystem`, the interface to the jobs of one target system
- `fields`: `JobDescription`, the table of what a job is; `request`: the profile's fields that it becomes
- `state`: `JobState`, `EndCause`, `JobStatus`, `JobEvent`, and the states of nodes and queues
- `machine`, `script_output`: the types of what a target system lists: nodes, queues, files
- `store`: `Store`, the record of jobs, and its `JobRecord`
- `profiles`: profiles by name, and the fields that a request may set
- `timing`: the times that a site may set
- `target_names`: the names of target systems in the record
- `live_job`: the rules for a job that is missing or was removed
- `shell`, `process`: run one script, without a target system

Internal:

- `script_runner`, `file_transfer`: run the templates' scripts
- `submitter`, `submission_owner`: submit a job once
- `tracker`, `live_jobs`, `poll_schedule`, `status_history`, `early_events`: what is known of live jobs, without input and output
- `watcher`, `event_log`, `listener`, `monitor`, `event_stream`: follow the states of jobs
- `recorder`, `mounts`: write the record
- `loop_thread`: the event loop of sessions
- `clock`: time for timestamps and for intervals
"""
