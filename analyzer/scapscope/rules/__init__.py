"""Reads Falco rules files, holds them to what is known to work, and has real engines judge them.

Each module turns one thing into the next:

source: the bytes of a YAML file into nodes that know their line and column;
loader: nodes of one or more files into definitions, with append and override applied;
parser: the text of a condition into an expression;
expansion: an expression into one without macros and lists;
lint: rules files into problems, by the knowledge in traps, house and checks;
sysdig, falco: a rule and a capture into alerts;
judge: rule tests (cases) into verdicts of these engines;
reference: a rule set and its tests into docs/rules.md.
"""
