"""Reports built in memory, for what no capture here has: hostile names, many findings, odd gaps."""

from __future__ import annotations

from typing import Any

from scapscope import CaptureSummary, Container, Evidence, Finding, Kernel, Machine, Process, Relative, Report

START_NS = 1795176951_000000000


def evidence(event: int = 100, **changes: Any) -> Evidence:
    values: dict[str, Any] = {
        "timestamp_ns": START_NS + event,
        "tid": 308,
        "type": "page_fault",
        "detail": "addr=0x0",
    }
    return Evidence(event=event, **(values | changes))


def process(**changes: Any) -> Process:
    values: dict[str, Any] = {
        "comm": "httpd",
        "exe": "/usr/sbin/httpd",
        "exepath": "/usr/sbin/httpd",
        "filename": "/usr/sbin/httpd",
        "args": ("-D", "FOREGROUND"),
        "pid": 308,
        "tid": 308,
        "parent": Relative(comm="init", pid=1, args=("/sbin/init",)),
        "entry_point": None,
    }
    return Process(**(values | changes))


def container(**changes: Any) -> Container:
    values = {"id": "0123456789ab", "name": "web", "image": "httpd:2.4", "runtime": "docker"}
    return Container(**(values | changes))


def finding(**changes: Any) -> Finding:
    values: dict[str, Any] = {
        "id": "crash-null-deref",
        "severity": "error",
        "confidence": "certain",
        "process": process(),
        "container": container(),
        "facts": {
            "count": 1,
            "pids": [308],
            "signal": "SIGSEGV",
            "exit_status": 139,
            "fault_address": "0x0000000000000008",
            "fault_access": "read",
        },
        "evidence": (evidence(),),
    }
    return Finding(**(values | changes))


def about_capture(**changes: Any) -> Finding:
    values: dict[str, Any] = {
        "id": "events-dropped",
        "severity": "warning",
        "process": None,
        "container": None,
        "facts": {"drops": 2},
        "evidence": (evidence(type="drop", detail=""),),
    }
    return finding(**(values | changes))


def report(
    *findings: Finding, mode: Any = "unknown", machine: Machine | None = None, **changes: Any
) -> Report:
    values: dict[str, Any] = {
        "path": "crash.scap",
        "bytes": 4096,
        "compressed": False,
        "events": 1000,
        "first_timestamp_ns": START_NS,
        "last_timestamp_ns": START_NS + 10**9,
        "duration_ns": 10**9,
        "enter_events": True,
        "page_faults_recorded": True,
        "unknown_blocks": 0,
        "undecoded_events": 0,
        "malformed_lists": 0,
        "threads_forgotten": 0,
        "happenings_omitted": 0,
        "processes_unwatched": 0,
        "strace": None,
        "damage": None,
    }
    return Report(
        schema_version="1.0",
        capture=CaptureSummary(**(values | changes)),
        machine=machine,
        kernel=Kernel(vsyscall_mode=mode, vsyscall_mode_evidence=()),
        findings=findings,
    )
