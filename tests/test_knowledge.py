"""What is said about findings: complete, valid, and about facts that there are."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from running import scapscope
from scapscope import knowledge
from scapscope.knowledge import docs
from scapscope.knowledge.context import NAMES
from scapscope.knowledge.formats import FORMATS
from scapscope.knowledge.sentence import PLACEHOLDER, command, placeholders, say

REPORT_SCHEMA = json.loads(Path(__file__).parent.parent.joinpath("docs/report.schema.json").read_text())
KNOWLEDGE_SCHEMA = json.loads(Path(__file__).with_name("knowledge.schema.json").read_text())
FINDING_IDS = REPORT_SCHEMA["$defs"]["finding"]["properties"]["id"]["enum"]

each_finding = pytest.mark.parametrize("finding_id", knowledge.ids())


def facts_of(finding_id: str) -> set[str]:
    """The facts that the report's schema allows a finding."""
    (rule,) = (
        rule
        for rule in REPORT_SCHEMA["$defs"]["finding"]["allOf"]
        if rule["if"]["properties"]["id"]["const"] == finding_id
    )
    return set(rule["then"]["properties"]["facts"]["propertyNames"]["enum"])


def inner_facts() -> set[str]:
    """Facts inside a fact, such as sent_by.comm."""
    facts = REPORT_SCHEMA["$defs"]["facts"]["properties"]
    return {f"{name}.{inner}" for name in facts for inner in facts[name].get("properties", {})}


def strings(value: Any) -> Iterator[str]:
    """Every string in a YAML value, but for the values of conditions."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            if name != "when":
                yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


def conditions(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        if "when" in value:
            yield value["when"]
        for inner in value.values():
            yield from conditions(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from conditions(inner)


def raw(finding_id: str) -> Any:
    return yaml.safe_load((knowledge.HERE / f"{finding_id}.yaml").read_text(encoding="utf-8"))


def test_every_finding_of_the_schema_is_explained() -> None:
    assert list(knowledge.ids()) == FINDING_IDS


@each_finding
def test_the_file_has_every_part(finding_id: str) -> None:
    jsonschema.Draft202012Validator(KNOWLEDGE_SCHEMA).validate(raw(finding_id))


@each_finding
def test_sentences_use_facts_that_there_are(finding_id: str) -> None:
    vocabulary = facts_of(finding_id) | inner_facts() | set(NAMES)
    for text in strings(raw(finding_id)):
        for name, form in placeholders(text):
            assert name in vocabulary, text
            assert form is None or form in FORMATS, text
        rest = PLACEHOLDER.sub("", text)
        assert "{" not in rest.replace("{{.", ""), f"not a placeholder: {text}"


@each_finding
def test_conditions_are_about_values_that_there_are(finding_id: str) -> None:
    properties = REPORT_SCHEMA["$defs"]["facts"]["properties"]
    for condition in conditions(raw(finding_id)):
        for name, wanted in condition.items():
            assert name in facts_of(finding_id) | set(NAMES)
            allowed = properties.get(name, {}).get("enum")
            if name == "confidence":
                allowed = REPORT_SCHEMA["$defs"]["finding"]["properties"]["confidence"]["enum"]
            if allowed is not None:
                # None: the fact is not there.
                assert set(wanted if isinstance(wanted, list) else [wanted]) <= {*allowed, None}


@each_finding
def test_something_can_always_be_said(finding_id: str) -> None:
    """With no facts at all there is still a verdict, and nothing has an open placeholder."""
    story = knowledge.load(finding_id).tell({"subject": "A process"})
    assert story.verdict.endswith(".")
    for said in (story.verdict, story.remedy, *story.what, *story.why, *story.sure, *story.surer):
        assert not PLACEHOLDER.search(said)
    assert all(not PLACEHOLDER.search(text) for fix in story.fixes for text in (fix.do, fix.risk, *fix.run))


@pytest.mark.parametrize("hint", REPORT_SCHEMA["$defs"]["facts"]["properties"]["cause_hint"]["enum"])
def test_every_cause_of_a_fatal_signal_has_a_verdict_a_reason_and_a_remedy(hint: str) -> None:
    story = knowledge.load("crash-signal").tell(
        {"subject": "httpd", "signal": "SIGX", "cause_hint": hint, "sent_by": {"comm": "x", "pid": 1}}
    )
    assert story.remedy
    assert story.why
    assert story.fixes


@pytest.mark.parametrize("finding_id", ["time-syscalls-hot", "userspace-without-vdso"])
def test_of_time_alone_neither_clocks_nor_clocksources_are_looked_at(finding_id: str) -> None:
    def told(call: str, *, needs_clocksource: bool) -> str:
        facts = {"subject": "app", "pid": 10, "call": call, "needs_clocksource": needs_clocksource}
        return str(knowledge.load(finding_id).tell(facts))

    for words in ("current_clocksource", "-e clock_gettime"):
        assert words not in told("time", needs_clocksource=False)
        assert words in told("clock_gettime", needs_clocksource=True)


def test_the_particulars_use_facts_that_there_are() -> None:
    vocabulary = set(REPORT_SCHEMA["$defs"]["facts"]["properties"]) | inner_facts() | set(NAMES)
    particulars = yaml.safe_load((knowledge.HERE / "case.yaml").read_text(encoding="utf-8"))
    used = {name for text in strings(particulars) for name, _ in placeholders(text)}
    assert used <= vocabulary


def test_a_sentence_without_its_fact_is_not_said() -> None:
    assert (
        say("It died after {after_exec_ns:duration}.", {"after_exec_ns": 31231231})
        == "It died after 31.2 ms."
    )
    assert say("It died after {after_exec_ns:duration}.", {}) is None
    assert say("Its parent is {parent.comm}.", {"parent": {"comm": "runc"}}) == "Its parent is runc."
    assert say("Its parent is {parent.comm}.", {"parent": None}) is None
    assert say({"text": "Killed.", "when": {"signal": ["SIGKILL"]}}, {"signal": "SIGTERM"}) is None


@pytest.mark.parametrize("image", ["-v/:/host", "redis; rm -rf /", "$(id)", "a\nb", "`id`", "red is"])
def test_a_name_that_could_do_harm_is_not_put_into_a_command(image: str) -> None:
    assert command("docker run --rm {image}", {"image": "registry:5000/redis:2.8.22"})
    assert command("docker run --rm {image}", {"image": image}) is None


@pytest.mark.parametrize(
    ("form", "value", "words"),
    [
        ("duration", 0, "0 ns"),
        ("duration", 999, "999 ns"),
        ("duration", 7177253, "7.18 ms"),
        ("duration", 999_999_999, "1 s"),
        ("duration", 93_000_000_000, "1 min 33 s"),
        ("duration", 7_260_000_000_000, "2 h 1 min"),
        ("duration", -5000, "-5 us"),
        ("size", 0, "0 bytes"),
        ("size", 999, "999 bytes"),
        ("size", 674112, "674 kB"),
        ("size", 999_999, "1 MB"),
        ("count", 72425, "72,425"),
        ("times", 1, "once"),
        ("times", 2, "twice"),
        ("times", 3000, "3,000 times"),
        ("hex", 1024, "0x400"),
        ("address", "0x0000000000000008", "0x8"),
        ("address", "0xffffffffff600400", "0xffffffffff600400"),
        ("list", ["a"], "a"),
        ("list", ["a", "b", "c"], "a, b and c"),
        ("list", list("abcdefgh"), "a, b, c, d, e and 3 more"),
        ("durations", [1000, 2000000], "1 us and 2 ms"),
        ("calls", {"getcpu": 1, "time": 3000}, "time() 3,000 times and getcpu() once"),
        (
            "programs",
            [
                {"comm": "java", "container": "7272f37ebc5c", "count": 3000},
                {"comm": None, "container": None, "count": 2},
            ],
            "java in container 7272f37ebc5c 3,000 times and a process twice",
        ),
        (
            "paths",
            [{"path": "/srv/", "count": 60}, {"path": "", "count": 1}],
            "/srv/ 60 times and the working directory once",
        ),
    ],
)
def test_values_read_as_a_person_would_write_them(form: str, value: Any, words: str) -> None:
    assert FORMATS[form](value) == words


def test_the_pages_in_docs_are_the_generated_ones(repository: Path) -> None:
    folder = repository / "docs/findings"
    assert {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()} == docs.pages(), (
        "run: python -m scapscope.knowledge.docs docs/findings"
    )


def test_pages_of_findings_that_are_gone_are_removed(tmp_path: Path) -> None:
    (tmp_path / "gone.md").write_text("old")
    docs.write(tmp_path)
    assert {path.stem for path in tmp_path.iterdir()} == {"README", *knowledge.ids()}


def test_findings_lists_them_all() -> None:
    listed = scapscope("findings")
    assert listed.returncode == 0
    assert [
        line.split()[0] for line in listed.stdout.splitlines() if line.startswith("  ") and line[2] != " "
    ] == list(knowledge.ids())
    assert [row["id"] for row in json.loads(scapscope("findings", "--json").stdout)["findings"]] == list(
        knowledge.ids()
    )


@each_finding
def test_findings_explains_one(finding_id: str) -> None:
    shown = scapscope("findings", finding_id)
    assert shown.returncode == 0
    for heading in ("What happened", "Why", "Fix", "How sure", "References"):
        assert f"\n{heading}\n" in shown.stdout
    assert json.loads(scapscope("findings", finding_id, "--json").stdout)["id"] == finding_id


def test_an_unknown_finding_is_a_usage_error() -> None:
    shown = scapscope("findings", "no-such-thing")
    assert shown.returncode == 2
    assert "'no-such-thing'" in shown.stderr
