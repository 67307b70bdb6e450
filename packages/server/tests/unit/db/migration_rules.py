"""What may stand in a migration, judged by its text: an expanding one takes nothing away from the
servers that run beside it, and holds none of them up for long."""

import re

from rookery.server.db.migrations import HEAD, Migration

QUOTED = re.compile(r"\$(\w*)\$.*?\$\1\$|'[^']*'|--[^\n]*", re.DOTALL)
MADE = re.compile(r"CREATE TABLE (?:IF NOT EXISTS )?(\w+)")
INDEX = re.compile(r"CREATE (?:UNIQUE )?INDEX (?:IF NOT EXISTS )?\w+ ON (\w+)")
ALONGSIDE = re.compile(r"CREATE INDEX CONCURRENTLY IF NOT EXISTS \w+ ON \w+")
ALTERED = re.compile(r"(?:ALTER TABLE (?:ONLY )?(?:IF EXISTS )?|CREATE TRIGGER .* ON )(\w+)")
BREAKING = {
    r"\bDROP\b": "takes away what older code may use",
    r"\bRENAME\b": "takes a name away that older code may use",
    r"\bTRUNCATE\b|\bDELETE FROM\b": "removes rows that older code may need",
    r"\bTYPE\b": "changes a type under older code",
    r"\bSET NOT NULL\b": "refuses what older code may write",
    r"\bADD COLUMN\b(?!.*\bDEFAULT\b).*\bNOT NULL\b": "older code gives the column no value",
    r"\bADD (?:CONSTRAINT|CHECK|UNIQUE|PRIMARY|FOREIGN|EXCLUDE)\b": "may refuse older code's rows",
    r"\bADD COLUMN\b.*\b(?:UNIQUE|PRIMARY KEY|CHECK|REFERENCES)\b": "may refuse older code's rows",
    r"\bADD COLUMN\b.*\b(?:GENERATED|\w*SERIAL\w*)\b": "rewrites a whole table",
    r"\bOR REPLACE\b": "changes what older code calls",
}
ITS_OWN = "may only be done to a table that the migration makes itself"


def find_faults(migration: Migration) -> list[str]:
    """Why older servers could not go on beside it; empty for a contracting one, which waits for
    their end."""
    if not HEAD.match(migration.sql):
        return ["its first line does not say of what kind it is"]
    statements = _statements(migration.sql)
    if migration.is_concurrent:
        wrong = [each for each in statements if not ALONGSIDE.match(each)]
        return [f"{each}: only CREATE INDEX CONCURRENTLY IF NOT EXISTS" for each in wrong]
    if migration.needs:
        return []
    made = {table for each in statements for table in MADE.findall(each)}
    return [fault for each in statements for fault in _faults_of(each, made)]


def _statements(sql: str) -> list[str]:
    bare = QUOTED.sub(" ", sql)
    return [words for each in bare.split(";") if (words := " ".join(each.split()).upper())]


def _faults_of(statement: str, made: set[str]) -> list[str]:
    altered, index = ALTERED.match(statement), INDEX.match(statement)
    if altered and altered[1] in made:
        return []
    faults = [
        f"{statement}: {why}"
        for pattern, why in BREAKING.items()
        if re.search(pattern, _each_column_apart(statement))
    ]
    if index and index[1] not in made:
        faults.append(f"{statement}: say `expand concurrently`; without it, this {ITS_OWN}")
    return faults


def _each_column_apart(statement: str) -> str:
    """So that one column's DEFAULT does not excuse another: a line for each."""
    return statement.replace(", ADD", "\nADD") if statement.startswith("ALTER") else statement
