"""Falco rules files: items, append, override, exceptions, visibility, and places in the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from scapscope.rules import source
from scapscope.rules.definitions import RuleSet
from scapscope.rules.entry import RefusedError
from scapscope.rules.expansion import Expander
from scapscope.rules.lint import lint
from scapscope.rules.loader import load
from scapscope.rules.source import SourceError, Text

BASE = """
- required_engine_version: 0.50.0
- required_plugin_versions:
    - name: json
      version: 0.7.0
    - name: k8saudit
      version: 0.7.0
      alternatives:
        - name: k8saudit-eks
          version: 0.4.0
- list: shells
  items: [ash, bash]
- list: readers
  items: [shells, '"(systemd)"', "two words", cat]
- macro: opened
  condition: (evt.type in (open, openat))
- macro: by_reader
  condition: (opened and proc.name in (readers, dd))
- rule: Secret Read
  desc: A secret was read.
  condition: by_reader and fd.name = /etc/secret
  output: Secret read | file=%fd.name
  priority: WARNING
  tags: [maturity_stable]
  exceptions:
    - name: known_programs
      fields: proc.exepath
    - name: known_pairs
      fields: [proc.name, container.image.repository]
      comps: [=, endswith]
      values:
        - [cat, backup]
- rule: Bucket Opened
  desc: x
  source: aws_cloudtrail
  condition: ct.name in (PutBucketAcl) and json.value[/a/0/b] startswith 'p' and ka.uri.param[x] exists
  output: x %ct.name
  priority: Info
"""


def loaded(tmp_path: Path, *texts: str) -> RuleSet:
    paths = [tmp_path / f"{number}.yaml" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="utf-8")
    return load(paths)


def messages(rules: RuleSet) -> list[str]:
    return [problem.message for problem in rules.problems]


def test_a_rule_is_expanded(tmp_path: Path) -> None:
    rules = loaded(tmp_path, BASE)
    assert rules.problems == []
    assert str(Expander(rules).rule(rules.rules["Secret Read"])) == (
        '(evt.type in (open, openat) and proc.name in (ash, bash, "(systemd)", "two words", cat, dd))'
        " and fd.name = /etc/secret"
        " and (not (proc.name = cat and container.image.repository endswith backup))"
    )


def test_requirements_and_plugin_sources_are_read(tmp_path: Path) -> None:
    rules = loaded(tmp_path, BASE)
    assert [text.value for text in rules.engine_versions] == ["0.50.0"]
    assert [[one.plugin for one in choices] for choices in rules.plugins] == [
        ["json"],
        ["k8saudit", "k8saudit-eks"],
    ]
    assert rules.rules["Bucket Opened"].source == "aws_cloudtrail"
    assert str(Expander(rules).rule(rules.rules["Bucket Opened"])) == (
        'ct.name in (PutBucketAcl) and json.value[/a/0/b] startswith "p" and ka.uri.param[x] exists'
    )


@pytest.mark.parametrize("how", ["append: true", "override: {items: append}"])
def test_a_list_is_appended_to(how: str, tmp_path: Path) -> None:
    rules = loaded(tmp_path, BASE, f"- list: shells\n  items: [fish]\n  {how}\n")
    words = Expander(rules).words(rules.lists["readers"])
    assert [word.text for word in words] == ["ash", "bash", "fish", "(systemd)", "two words", "cat"]


@pytest.mark.parametrize("how", ["", "override: {items: replace}"])
def test_a_list_is_replaced(how: str, tmp_path: Path) -> None:
    rules = loaded(tmp_path, BASE, f"- list: shells\n  items: [fish]\n  {how}\n")
    assert [word.text for word in Expander(rules).words(rules.lists["shells"])] == ["fish"]
    assert " (fish, " in str(Expander(rules).rule(rules.rules["Secret Read"]))


@pytest.mark.parametrize("how", ["append: true", "override: {condition: append}"])
def test_a_macro_is_appended_to(how: str, tmp_path: Path) -> None:
    rules = loaded(tmp_path, BASE, f"- macro: opened\n  condition: or evt.type = creat\n  {how}\n")
    assert (
        str(Expander(rules).macro(rules.macros["opened"])) == "evt.type in (open, openat) or evt.type = creat"
    )


@pytest.mark.parametrize("how", ["append: true", "override: {condition: append}"])
def test_a_condition_is_appended_to(how: str, tmp_path: Path) -> None:
    rules = loaded(tmp_path, BASE, f"- rule: Secret Read\n  condition: and user.uid != 0\n  {how}\n")
    assert " and user.uid != 0 and (not " in str(Expander(rules).rule(rules.rules["Secret Read"]))


def test_every_key_that_can_be_overridden(tmp_path: Path) -> None:
    rules = loaded(
        tmp_path,
        BASE,
        """
- rule: Secret Read
  desc: It matters.
  condition: opened
  output: user=%user.name
  priority: CRITICAL
  tags: [host]
  enabled: false
  warn_evttypes: false
  exceptions: []
  override:
    {desc: append, condition: replace, output: append, priority: replace, tags: append, enabled: replace,
     warn_evttypes: replace, exceptions: replace}
""",
    )
    rule = rules.rules["Secret Read"]
    assert rules.problems == []
    assert rule.desc.value == "A secret was read. It matters."
    assert str(Expander(rules).rule(rule)) == "evt.type in (open, openat)"
    assert rule.output.value == "Secret read | file=%fd.name user=%user.name"
    assert rule.priority.value == "CRITICAL"
    assert [tag.value for tag in rule.tags] == ["maturity_stable", "host"]
    assert (rule.enabled, rule.warn_evttypes) == (False, False)


def test_texts_are_replaced_and_rules_redefined(tmp_path: Path) -> None:
    rules = loaded(
        tmp_path,
        BASE,
        "- rule: Secret Read\n  desc: new\n  output: new\n  tags: [x]\n"
        "  override: {desc: replace, output: replace, tags: replace}\n"
        "- {rule: Bucket Opened, desc: d, condition: ct.x exists, output: o, priority: DEBUG,"
        " source: aws_cloudtrail}\n",
    )
    secret = rules.rules["Secret Read"]
    assert (secret.desc.value, secret.output.value, [tag.value for tag in secret.tags]) == (
        "new",
        "new",
        ["x"],
    )
    assert rules.rules["Bucket Opened"].condition.value == "ct.x exists"
    assert list(rules.rules) == ["Secret Read", "Bucket Opened"]


def test_a_rule_is_switched_off_in_the_old_way(tmp_path: Path) -> None:
    rules = loaded(tmp_path, BASE, "- rule: Secret Read\n  enabled: no\n")
    assert rules.rules["Secret Read"].enabled is False


@pytest.mark.parametrize("how", ["append: true", "override: {exceptions: append}"])
def test_exceptions_get_values(how: str, tmp_path: Path) -> None:
    rules = loaded(
        tmp_path,
        BASE,
        f"""
- rule: Secret Read
  {how}
  exceptions:
    - name: known_programs
      values: [/bin/cat, /opt/my tool, shells]
    - name: known_pairs
      values:
        - [dd, '"a=b"']
    - name: by_users
      fields: [user.name, proc.name]
      comps: [in, in]
      values:
        - [[root, "the admin"], shells]
        - ['(bin, daemon)', cat]
""",
    )
    assert rules.problems == []
    assert str(Expander(rules).rule(rules.rules["Secret Read"])).partition("/etc/secret and ")[2] == (
        '(not proc.exepath in (/bin/cat, "/opt/my tool", ash, bash))'
        " and (not ((proc.name = cat and container.image.repository endswith backup)"
        ' or (proc.name = dd and container.image.repository endswith "a=b")))'
        ' and (not ((user.name in (root, "the admin") and proc.name in (ash, bash))'
        " or (user.name in (bin, daemon) and proc.name in (cat))))"
    )


@pytest.mark.parametrize(
    ("exception", "says"),
    [
        ("{name: a, fields: proc.name, comps: =, values: [x]}", "comps must be one of in"),
        ("{name: a, fields: [proc.name], comps: [is], values: [[x]]}", "'is', which is no operator"),
        ("{name: a, fields: [proc.name, fd.name], comps: [=], values: []}", "2 fields, but 1 comps"),
        ("{name: a, fields: [proc.name], values: [[x, y]]}", "not a list of 1"),
        ("{name: a, fields: [proc.name], values: [x]}", "not a list of 1"),
        ("{name: a, fields: [proc.name], comps: =, values: [[x]]}", "mixes a list and a single text"),
        ("{name: a, fields: [proc.name], values: [['a=b']]}", "makes no condition"),
    ],
)
def test_exceptions_that_do_not_fit(exception: str, says: str, tmp_path: Path) -> None:
    rules = loaded(
        tmp_path, BASE.replace("- name: known_programs\n      fields: proc.exepath", f"- {exception}")
    )
    with pytest.raises(RefusedError, match=says) as refused:
        Expander(rules).rule(rules.rules["Secret Read"])
    assert refused.value.problem.spot.line == BASE[: BASE.index("- name: known_programs")].count("\n") + 1


@pytest.mark.parametrize(
    ("item", "says"),
    [
        ("- list: missing\n  items: [a]\n  append: true", "no list 'missing' yet"),
        ("- macro: missing\n  condition: a.b = c\n  override: {condition: append}", "no macro 'missing' yet"),
        ("- rule: Missing\n  condition: and a.b = c\n  append: true", "no rule 'Missing' yet to change"),
        ("- rule: Missing\n  enabled: true", "no rule 'Missing' yet to switch"),
        (
            "- rule: Secret Read\n  priority: INFO\n  override: {priority: append}",
            "cannot be changed in this way",
        ),
        ("- rule: Secret Read\n  priority: INFO\n  override: {priority: swap}", "append or replace only"),
        ("- rule: Secret Read\n  override: {priority: replace}", "named under 'override', but not given"),
        (
            "- rule: Secret Read\n  priority: INFO\n  desc: x\n  override: {desc: append}",
            "not under 'override'",
        ),
        ("- rule: Secret Read\n  desc: x\n  append: true\n  override: {desc: append}", "keep 'override'"),
        (
            "- {rule: Secret Read, desc: d, condition: a.b exists, output: o, priority: INFO, source: okta}",
            "another source",
        ),
        ("- rule: R\n  desc: d\n  condition: a.b exists\n  output: o", "needs the key 'priority'"),
        (
            "- {rule: R, desc: d, condition: a.b exists, output: o, priority: URGENT}",
            "'URGENT' is no priority",
        ),
        ("- {rule: R, desc: d, condition: a.b exists, output: , priority: INFO}", "'output' is empty"),
        ("- {rule: R, desc: d, condition: [a], output: o, priority: INFO}", "'condition' must be a text"),
        ("- {rule: R, desc: d, condition: a, output: o, priority: INFO, enabled: perhaps}", "true or false"),
        ("- {list: l, items: x}", "'items' must be a sequence"),
        ("- {list: l, items: [[x]]}", "must be texts"),
        ("- {list: a b, items: [x]}", "cannot name a list"),
        ("- {macro: a-b, condition: c}", "cannot name a macro"),
        ("- {macro: a, condition: b, condition: c}", "given twice"),
        ("- {macro: a, condition: b, color: c}", "knows no key 'color'"),
        ("- {rul: a}", "no rule, macro, list or requirement"),
        ("- just text", "an item is a mapping"),
        (
            "- rule: Secret Read\n  append: true\n"
            "  exceptions: [{name: known_pairs, fields: [a.b], values: []}]",
            "append values only",
        ),
        ("- rule: Secret Read\n  append: true\n  exceptions: [{name: new, values: [x]}]", "has no fields"),
    ],
)
def test_what_falco_refuses_is_named(item: str, says: str, tmp_path: Path) -> None:
    rules = loaded(tmp_path, BASE, item)
    (message,) = messages(rules)
    assert says in message
    assert rules.problems[0].spot.file.endswith("1.yaml")
    assert "Bucket Opened" in rules.rules, "one bad item leaves the others"


def test_a_macro_sees_earlier_ones_only(tmp_path: Path) -> None:
    rules = loaded(tmp_path, "- {macro: a, condition: b}\n- {macro: b, condition: x.y = z}\n")
    with pytest.raises(RefusedError, match="defined later"):
        Expander(rules).macro(rules.macros["a"])


def test_a_macro_that_was_appended_to_sees_more(tmp_path: Path) -> None:
    rules = loaded(
        tmp_path,
        "- {macro: a, condition: v.w = z}\n- {macro: b, condition: x.y = z}\n"
        "- {macro: a, condition: and b, append: true}\n",
    )
    assert str(Expander(rules).macro(rules.macros["a"])) == "v.w = z and x.y = z"


def test_macros_that_contain_each_other(tmp_path: Path) -> None:
    rules = loaded(
        tmp_path, "- {macro: a, condition: x.y = z}\n- {macro: b, condition: a}\n- {macro: a, condition: b}\n"
    )
    with pytest.raises(RefusedError, match="contains itself"):
        Expander(rules).macro(rules.macros["a"])


def test_lists_that_contain_each_other_do_not_hang(tmp_path: Path) -> None:
    rules = loaded(tmp_path, "- {list: a, items: [b]}\n- {list: b, items: [a]}\n- {list: c, items: [c]}\n")
    for named in rules.lists.values():
        assert len(Expander(rules).words(named)) == 1


def test_a_list_in_a_list_in_a_list_is_not_expanded(tmp_path: Path) -> None:
    rules = loaded(tmp_path, "- {list: a, items: [x]}\n- {list: b, items: [a]}\n- {list: c, items: [b, y]}\n")
    assert [word.text for word in Expander(rules).words(rules.lists["c"])] == ["a", "y"]
    checks = {problem.check for problem in lint(rules.files)}
    assert checks == {"nested-list"}


@pytest.mark.parametrize(
    ("condition", "says"),
    [
        ("nothing", "no macro 'nothing'"),
        ("shells", "a list stands in parentheses"),
        ("proc.name = shells", "a list stands in parentheses: proc.name in"),
        ("proc.name in shells", "a list stands in parentheses"),
        ("proc.name in (shells", "expected ',' or '\\)'"),
    ],
)
def test_names_that_mean_nothing(condition: str, says: str, tmp_path: Path) -> None:
    rules = loaded(tmp_path, BASE, f"- {{macro: m, condition: '{condition}'}}\n")
    with pytest.raises(RefusedError, match=says) as refused:
        Expander(rules).macro(rules.macros["m"])
    assert refused.value.problem.spot.line == 1


def test_a_list_of_one_can_stand_for_a_value(tmp_path: Path) -> None:
    rules = loaded(tmp_path, "- {list: one, items: [x]}\n- {macro: m, condition: proc.name = one}\n")
    assert str(Expander(rules).macro(rules.macros["m"])) == "proc.name = x"


@pytest.mark.parametrize(
    ("yaml", "value"),
    [
        ("k: a.b = c and WRONG", "a.b = c and WRONG"),
        ("k: >\n     a.b = c\n     and WRONG or\n     d\n", None),
        ("k: >-\n\n     a.b = c\n\n     and WRONG or d\n", None),
        ("k: |\n     a.b = c\n     and WRONG\n", None),
        ("k: a.b = c\n  and WRONG\n  or d\n", None),
        ("k: 'a.b = ''c'' and WRONG'", None),
        ('k: "a.b = c and\n  WRONG"', None),
        ("k: (é.b = 'ü' and WRONG)", None),
    ],
)
def test_a_place_in_a_folded_text_is_found_in_the_file(yaml: str, value: str | None) -> None:
    (document,) = source.parse(yaml, "f")
    assert isinstance(document, source.Mapping)
    text = document.entries["k"]
    assert isinstance(text, Text)
    assert value is None or text.value == value
    spot = text.spot_of(text.value.index("WRONG"))
    assert yaml.split("\n")[spot.line - 1][spot.column - 1 :].startswith("WRONG")


def test_a_place_after_escapes_is_at_least_the_right_line() -> None:
    (document,) = source.parse('a: 1\nk: "a\\tb WRONG"\n', "f")
    assert isinstance(document, source.Mapping)
    text = document.entries["k"]
    assert isinstance(text, Text)
    assert text.spot_of(5).line == 2


def test_the_place_of_a_missing_end() -> None:
    (document,) = source.parse("k: >\n  a.b = c\n  and\n", "f")
    assert isinstance(document, source.Mapping)
    text = document.entries["k"]
    assert isinstance(text, Text)
    assert str(text.spot_of(len(text.value))) == "f:3:6"


@pytest.mark.parametrize(
    ("content", "line", "says"),
    [
        (b"- a: [\n", 2, "not YAML"),
        (b"- a: 1\n\t- b\n", 2, "not YAML"),
        (b"a\n\xff\n", 2, "not UTF-8"),
        (b"&a [*a]\n", 1, "contains itself"),
        (b"? [a]\n: b\n", 1, "not a plain text"),
        (b"a: \x07\n", 1, "not YAML"),
        (b"[" * 100_000 + b"]" * 100_000, 1, "nested too deeply"),
    ],
)
def test_what_is_not_yaml_is_named(content: bytes, line: int, says: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_bytes(content)
    with pytest.raises(SourceError, match=says) as problem:
        source.read(path)
    assert problem.value.spot.line == line
    (found,) = load([path]).problems
    assert (found.check, found.spot.line) == ("yaml", line)


def test_repeated_aliases_do_not_multiply() -> None:
    text = "a0: &a0 [x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 20)}]\n" for n in range(1, 20)
    )
    (document,) = source.parse(text, "f")
    assert isinstance(document, source.Mapping)


def test_empty_documents_and_items_are_nothing(tmp_path: Path) -> None:
    rules = loaded(tmp_path, "---\n---\n- \n- {list: a, items: []}\n...\n")
    assert list(rules.lists) == ["a"]
    assert rules.problems == []
