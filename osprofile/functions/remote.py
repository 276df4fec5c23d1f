# ruff: noqa: ANN401, BLE001, S301, SLF001  # it passes on any values, and reports each exception
"""Run the functions of a job. The interpreter of the target system runs the text of this file; nothing imports it here.

It needs only Python's own library, and cloudpickle if a function or a result needs it. `run_task` is called with the
settings that `calls.build_program` puts behind this text.
"""

# Python 3.6 can read it, so that an old interpreter says what is wrong.

import contextlib
import os
import pickle
import signal
import struct
import sys
import time
import traceback

TYPE_CHECKING = False  # type checkers take it for True; the import would take time
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    Outcome = tuple[str, bytes, str]


def run_task(settings: "dict[str, Any]") -> None:
    """Run the calls of this task, write the result file, and exit with 1 if one raised an exception."""
    index = int(os.environ.get("GPE_ARRAY_INDEX") or 1)
    with enter_directory(settings["directory"]) as directory:
        run_number = note_run(os.path.join(directory, f"runs.{index}"))
        refusal = prepare_interpreter(settings)
        blocks = read_calls(settings["calls"], directory, index) if not refusal else []

    def write(outcomes: "list[Outcome]") -> None:
        with enter_directory(settings["directory"]) as directory:  # again: the function may close all files
            write_result(
                os.path.join(directory, f"result.{index}"), {"outcomes": outcomes, "run": run_number}
            )

    with note_exit(lambda: write([])):
        outcomes = [("refused", b"", refusal)] if refusal else run_blocks(blocks, settings["cloudpickle"])
    flush_output()
    write(outcomes)
    if any(outcome[0] != "result" for outcome in outcomes):
        sys.exit(1)


@contextlib.contextmanager
def enter_directory(name: str) -> "Iterator[str]":
    """Make a directory in that of the job if it is missing, and yield a path to it that leads nowhere else.

    The job's directory may be cleaned while the job runs, and be made again by somebody else, whose pickles must not be read.
    """
    path = os.environ["GPE_WORKING_DIRECTORY"]
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        status = os.fstat(descriptor)
        if status.st_uid != os.geteuid() or status.st_mode & 0o022:
            sys.exit(f"{path} is not used: others can change this directory")
        yield make_directory(
            f"/proc/{os.getpid()}/fd/{descriptor}", name
        )  # also in processes that this one starts
    finally:
        os.close(descriptor)


def make_directory(*names: str) -> str:
    """Return a directory, which is made if it is missing."""
    path = os.path.join(*names)
    if not os.path.isdir(path):
        os.makedirs(path, 0o700, exist_ok=True)
    return path


def note_run(path: str) -> int:
    """Add a line to the file of the runs of this task, and return its number: more than 1 if the job was requeued."""
    with open(path, "a+") as file:
        file.write(f"{time.time():.0f} {os.uname()[1]}\n")
        file.seek(0)
        return len(file.readlines())


def prepare_interpreter(settings: "dict[str, Any]") -> str:
    """Let modules be imported as where the functions come from; return why this interpreter cannot run them, or nothing."""
    interpreter = sys.implementation.cache_tag
    if interpreter != settings["interpreter"]:
        return f"{describe()} is {interpreter}, not {settings['interpreter']}"
    sys.path.extend(path for path in settings["path"] if path not in sys.path and os.path.isdir(path))
    return ""


def run_blocks(blocks: "list[bytes]", version: str) -> "list[Outcome]":
    """Return the outcome of each call of a task, which was pickled by that version of cloudpickle.

    It is `result` or `error` with a pickled value, or `refused` with a text.
    """
    try:
        function, calls = [pickle.loads(data) for data in blocks]
    except BaseException as error:
        if isinstance(error, ImportError) and error.name == "cloudpickle":
            return [("refused", b"", f"{describe()} has no package cloudpickle")]
        found = getattr(sys.modules.get("cloudpickle"), "__version__", version)
        if found != version and not isinstance(error, ImportError):
            text = f"{describe()} has cloudpickle {found}, not {version}, and cannot read them ({error})"
            return [("refused", b"", text)]
        return [pickle_error(error, "loading the function on " + describe())]
    return [run_call(function, *call) for call in calls]


def describe() -> str:
    """Return which interpreter this is."""
    return f"{sys.executable} on {os.uname()[1]}"


def read_calls(data: "bytes | None", directory: str, index: int) -> "list[bytes]":
    """Return the pickled function, and the pickled calls of one task; without data, they are in a file."""
    if data is not None:
        blocks = []
        for number in (0, index):
            begin, end = struct.unpack_from(">QQ", data, 8 * number)
            blocks.append(data[begin:end])
        return blocks
    blocks = []
    with open(os.path.join(directory, "calls"), "rb") as file:
        for number in (0, index):
            file.seek(8 * number)
            begin, end = struct.unpack(">QQ", file.read(16))
            file.seek(begin)
            blocks.append(file.read(end - begin))
    return blocks


def run_call(function: "Any", arguments: "Any", keywords: "Any") -> "Outcome":
    """Call the function, and return its outcome."""
    try:
        result = function(*arguments, **keywords)
    except BaseException as error:
        return pickle_error(error, "")
    try:
        return ("result", pickle_value(result), "")
    except BaseException as error:
        return pickle_error(error, "pickling the result, a " + type(result).__name__)


def pickle_error(error: BaseException, note: str) -> "Outcome":
    """Return the outcome of an exception; it has no value if it cannot be pickled. Print it, too."""
    if note and hasattr(error, "add_note"):
        error.add_note(note)
    # without the frame of this file
    trace = error.__traceback__ and error.__traceback__.tb_next
    text = "".join(traceback.format_exception(type(error), error, trace))
    with contextlib.suppress(Exception):  # as in flush_output
        sys.stderr.write(text)
    try:
        data = pickle_value(error)
        pickle.loads(data)
    except BaseException:
        return ("error", b"", text)
    return ("error", data, text)


@contextlib.contextmanager
def note_exit(note: "Callable[[], object]") -> "Iterator[None]":
    """Call `note` where this process calls `os._exit(0)`: without a result, its end looks as if the result came late."""
    own, leave = os.getpid(), os._exit

    def note_and_leave(status: int) -> None:
        if status == 0 and os.getpid() == own:  # a child ends by this, too
            note()
        leave(status)

    modules = [os, sys.modules["posix"]]  # the second is where a pickle looks for the function
    for module in modules:
        module._exit = note_and_leave  # type: ignore[attr-defined]
    try:
        yield
    finally:
        for module in modules:
            module._exit = leave  # type: ignore[attr-defined]


def flush_output() -> None:
    """Write what was printed. The function may have closed or replaced stdout, or filled the disk: its result counts."""
    with contextlib.suppress(Exception):
        sys.stdout.flush()


def pickle_value(value: "Any") -> bytes:
    """Return a pickled value: by cloudpickle, whose import takes time, if it must be."""
    try:
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except Exception:
        import cloudpickle

        data: bytes = cloudpickle.dumps(value)
        return data


def write_result(path: str, result: "dict[str, Any]") -> None:
    """Write the result file, which gets its name when it is complete."""
    temporary = f"{path}.{os.getpid()}.new"
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        pickle.dump(result, file, 2)
    os.rename(temporary, path)


# Workers: the submitter writes tasks into files of `inbox`; each has one file in `tasks`: INDEX.call, and INDEX.run.PID
# while a worker runs it. The file `log` has a line for what happens to it.


def run_workers(settings: "dict[str, Any]") -> None:
    """Run tasks in several processes, until the file `stop` is there, or no task has come for some time."""
    with enter_directory(settings["directory"]) as directory:
        run_workers_in(directory, settings)


def run_workers_in(directory: str, settings: "dict[str, Any]") -> None:
    """Run tasks by the files of a directory."""
    make_directory(directory, "inbox")
    tasks = make_directory(directory, "tasks")
    run_number = note_run(os.path.join(directory, "runs.0"))
    refusal = prepare_interpreter(settings)
    note(directory, "refused " + refusal if refusal else "begun")
    if refusal:
        sys.exit(1)
    cpus = int(os.environ.get("GPE_CPUS") or 1)
    os.environ["OMP_NUM_THREADS"] = str(max(1, cpus // settings["workers"]))
    for name in os.listdir(tasks):
        if ".run." in name:  # it was running before a requeue
            os.rename(os.path.join(tasks, name), os.path.join(tasks, name.partition(".")[0] + ".call"))
    keep_workers(settings, directory, tasks, run_number)


def keep_workers(settings: "dict[str, Any]", directory: str, tasks: str, run_number: int) -> None:
    """Have as many workers as there should be, until the end."""
    workers: set[int] = set()
    idle_since = time.monotonic()
    while not os.path.exists(os.path.join(directory, "stop")):
        take_inbox(os.path.join(directory, "inbox"), tasks)
        while len(workers) < settings["workers"]:
            workers.add(start_worker(settings, directory, tasks, run_number))
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid:
            workers.discard(pid)
            note_lost_task(directory, tasks, pid, status, run_number)
        if os.listdir(tasks):
            idle_since = time.monotonic()
        elif time.monotonic() - idle_since > settings["idle"]:
            break
        time.sleep(0.02)
    for pid in workers:
        os.kill(pid, signal.SIGKILL)


def note(directory: str, line: str) -> None:
    """Add a line to the log, in one piece."""
    descriptor = os.open(os.path.join(directory, "log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(descriptor, (line + "\n").encode())
    os.close(descriptor)


def take_inbox(inbox: str, tasks: str) -> None:
    """Write each task of the files in the inbox into a file of its own."""
    for name in os.listdir(inbox):
        if not name.isdigit():  # not complete
            continue
        path = os.path.join(inbox, name)
        with open(path, "rb") as file:
            arrived = pickle.load(file)
        for index, data in arrived:
            temporary = os.path.join(tasks, f".{index}")
            with open(temporary, "wb") as file:
                file.write(data)
            os.rename(temporary, os.path.join(tasks, f"{index}.call"))
        os.unlink(path)


def start_worker(settings: "dict[str, Any]", directory: str, tasks: str, run_number: int) -> int:
    """Start a process that runs one task after another, and return its id."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    try:
        work(settings, directory, tasks, run_number)
    finally:
        os._exit(0)


def work(settings: "dict[str, Any]", directory: str, tasks: str, run_number: int) -> None:
    """Run one task after another, as long as the parent lives."""
    parent = os.getppid()
    pause = 0.005
    names: list[str] = []
    while os.getppid() == parent:
        if not names:
            names = sorted((n for n in os.listdir(tasks) if n.endswith(".call")), key=lambda n: -int(n[:-5]))
        if not names:
            time.sleep(pause)
            pause = min(pause * 1.5, 0.1)
            continue
        pause = 0.005
        index = names.pop()[:-5]
        path = os.path.join(tasks, f"{index}.run.{os.getpid()}")
        try:
            os.rename(os.path.join(tasks, index + ".call"), path)
        except FileNotFoundError:  # another worker has it
            continue
        note(directory, "taken " + index)
        with open(path, "rb") as file:
            outcomes = run_blocks(read_calls(file.read(), directory, 1), settings["cloudpickle"])
        flush_output()
        end_task(directory, index, path, {"outcomes": outcomes, "run": run_number})


def end_task(directory: str, index: str, path: str, result: "dict[str, Any]") -> None:
    """Write the result of a task, then forget the task. Of a worker that was killed before it had, its parent does the rest."""
    write_result(os.path.join(directory, "result." + index), result)
    note(directory, "done " + index)
    os.unlink(path)


def note_lost_task(directory: str, tasks: str, pid: int, status: int, run_number: int) -> None:
    """Write the result of the task that ended its worker."""
    for name in os.listdir(tasks):
        if name.endswith(f".run.{pid}"):
            cause, text = b"", f"the worker ended with exit code {status >> 8}"
            if os.WIFSIGNALED(status):
                number = os.WTERMSIG(status)
                cause = b"TIME" if number == signal.SIGXCPU else b"SIGNAL"  # its processor time was used up
                text = f"signal {number} ended the worker"
            index, path = name.partition(".")[0], os.path.join(tasks, name)
            if os.path.exists(os.path.join(directory, "result." + index)):  # it had ended the task before
                note(directory, "done " + index)
                os.unlink(path)
            else:
                end_task(directory, index, path, {"outcomes": [("ended", cause, text)], "run": run_number})
