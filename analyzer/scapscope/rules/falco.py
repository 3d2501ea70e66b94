"""Has Falco judge a rule: the rules files as they are, on a capture, by engine.kind=replay with JSON output.

A second file enables the rule that is asked about. Container fields come from Falco's container plugin;
where that is not found, the rule is given to Falco on its own, without those fields in its output.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from scapscope.rules.condition import Check, Expression, fields_of, walk
from scapscope.rules.definitions import Rule, RuleSet
from scapscope.rules.engine import Alert, EngineError, UnableError, expanded, known, run
from scapscope.rules.output import printed

PROGRAM_VARIABLE = "FALCO_BIN"
PLUGIN_VARIABLE = "FALCO_CONTAINER_PLUGIN"
_VERSION = re.compile(r"Falco version:?\s*(\S+)", re.IGNORECASE)
_PLUGIN = "share/falco/plugins/libcontainer.so"
_FROM_PLUGIN = ("container.", "k8s.")
_PAIR = re.compile(r"\s*[\w.]+=%(?:container|k8s)\.[\w.\[\]]+")
_TIMES = ("evt.rawtime", "evt.time", "evt.time.iso8601")


@dataclass(frozen=True, slots=True)
class Installation:
    """A Falco program, and its container plugin if it has one."""

    program: Path
    container_plugin: Path | None


def find(environment: dict[str, str] | None = None) -> Installation | None:
    """The Falco that FALCO_BIN names or PATH holds; None where there is none."""
    variables = dict(os.environ) if environment is None else environment
    named = variables.get(PROGRAM_VARIABLE) or shutil.which("falco", path=variables.get("PATH"))
    if not named:
        return None
    program = Path(named)
    given = variables.get(PLUGIN_VARIABLE)
    places = [Path(given)] if given else [program.resolve().parent.parent / _PLUGIN, Path("/usr") / _PLUGIN]
    return Installation(program, next((place for place in places if place.is_file()), None))


class Falco:
    """One installed Falco."""

    name = "falco"

    def __init__(self, installation: Installation) -> None:
        self._installed = installation

    def version(self) -> str:
        """What `falco --version` prints. Raises EngineError where it does not run."""
        with tempfile.TemporaryDirectory(prefix="scapscope-") as folder:
            config = Path(folder) / "falco.yaml"
            config.write_text(configuration([], Path(os.devnull), None), encoding="utf-8")
            said = self._run([*command(self._installed.program, config), "--version"])
        found = _VERSION.search(said)
        return found[1] if found else said.strip().partition("\n")[0]

    def alerts(self, rules: RuleSet, rule: Rule, capture: Path) -> list[Alert]:
        """The alerts of `rule`, which a second rules file enables."""
        plugin = self._installed.container_plugin
        with tempfile.TemporaryDirectory(prefix="scapscope-") as folder:
            here = Path(folder)
            config, enabling, alone = here / "falco.yaml", here / "enabled.yaml", here / "rule.yaml"
            if plugin is None and needs_container_plugin(rule):
                alone.write_text(without_container_fields(rules, rule), encoding="utf-8")
                files = [alone]
            else:
                enabling.write_text(enabled(rule.name), encoding="utf-8")
                files = [*(path.resolve() for path in rules.files), enabling]
            config.write_text(configuration(files, capture.resolve(), plugin), encoding="utf-8")
            return parse_alerts(self._run(command(self._installed.program, config)), rule.name)

    def _run(self, words: list[str]) -> str:
        done = run("Falco", words)
        if done.returncode != 0:
            raise EngineError(f"Falco says: {complaint(done.stdout, done.stderr)}")
        return done.stdout


def command(program: Path, config: Path) -> list[str]:
    """The command that does what `config` says: everything is in there, paths with odd letters too."""
    return [str(program), "-c", str(config)]


def configuration(rules: list[Path], capture: Path, container_plugin: Path | None) -> str:
    """A falco.yaml: replay of `capture` against `rules`, in this order, and nothing from /etc/falco.

    Alerts come as JSON on standard output, of every rule that matches, whatever its priority.
    """
    plugins = (
        [] if container_plugin is None else [{"name": "container", "library_path": str(container_plugin)}]
    )
    settings: dict[str, Any] = {
        "config_files": [],
        "rules_files": [str(path) for path in rules],
        "engine": {"kind": "replay", "replay": {"capture_file": str(capture)}},
        "plugins": plugins,
        "load_plugins": [plugin["name"] for plugin in plugins],
        "priority": "debug",
        "rule_matching": "all",
        "json_output": True,
        "json_include_output_property": True,
        "json_include_output_fields_property": True,
        "json_include_tags_property": True,
        "buffered_outputs": False,
        "stdout_output": {"enabled": True},
        "syslog_output": {"enabled": False},
        "log_stderr": True,
        "log_syslog": False,
        "watch_config_files": False,
        "webserver": {"enabled": False},
    }
    return yaml.safe_dump(settings, sort_keys=False)


def enabled(rule: str) -> str:
    """A rules file that enables `rule`, to be read last."""
    return yaml.safe_dump(
        [{"rule": rule, "enabled": True, "override": {"enabled": "replace"}}], sort_keys=False
    )


def needs_container_plugin(rule: Rule) -> bool:
    """Whether a rule's output has fields that only the container plugin knows."""
    return any(field.field.startswith(_FROM_PLUGIN) for field in printed(rule.output.value))


def without_container_fields(rules: RuleSet, rule: Rule) -> str:
    """A rules file of this rule alone, without container fields in its output.

    Raises UnableError where the condition itself needs them.
    """
    condition = expanded(rules, rule)
    if any(field.startswith(_FROM_PLUGIN) for field in _compared(condition)):
        raise UnableError(
            "this Falco has no container plugin, and the condition needs it: "
            f"set {PLUGIN_VARIABLE} to libcontainer.so"
        )
    written = {
        "rule": rule.name,
        "desc": rule.desc.value,
        "condition": str(condition),
        "output": _PAIR.sub("", rule.output.value),
        "priority": rule.priority.value,
        "source": rule.source,
    }
    return yaml.safe_dump([written], sort_keys=False, allow_unicode=True)


def _compared(condition: Expression) -> list[str]:
    checks = [one for one in walk(condition) if isinstance(one, Check)]
    return [field.name for check in checks for field in (*fields_of(check.left), *fields_of(check.right))]


def parse_alerts(said: str, rule: str) -> list[Alert]:
    """The alerts of `rule` on Falco's standard output, which ends in counts that are no JSON."""
    found = []
    for line in said.splitlines():
        if not line.startswith("{"):
            continue
        try:
            alert = json.loads(line)
        except ValueError:
            raise EngineError(f"a line of Falco's output is cut off: {line[:80]!r}") from None
        if alert.get("rule") == rule:
            fields = {name: known(value) for name, value in alert.get("output_fields", {}).items()}
            found.append(Alert(_timestamp(fields), fields))
    return found


def _timestamp(fields: dict[str, Any]) -> int | None:
    """The event's time: Falco gives nanoseconds under every one of these names in JSON."""
    return next((fields[name] for name in _TIMES if isinstance(fields.get(name), int)), None)


def complaint(out: str, err: str) -> str:
    """What Falco said when it failed: from "Error" on, at most three lines."""
    lines = [line.strip() for line in (err + "\n" + out).splitlines() if line.strip()]
    first = next(
        (place for place, line in enumerate(lines) if line.startswith(("Error", "LOAD_ERR"))),
        max(0, len(lines) - 3),
    )
    named = [line for line in lines[first:] if "LOAD_ERR" in line]
    return (
        " / ".join(dict.fromkeys([*lines[first : first + 1], *named, *lines[first + 1 : first + 3]][:3]))
        or "nothing"
    )
