"""Values of a schema whose rule encrypts fields stay as they are, and a run says so once."""

import json
from pathlib import Path

import pytest

from seglake.errors import ExitCode
from support.lakes import ingested
from support.typed_disk import schema_pair, write_registry
from support.typed_lakes import add_values, decoded
from support.typed_rows import columns_of, table_rows, typed_rows

_FIELDS = [
    {"name": "id", "type": "int"},
    {"name": "mail", "type": "string", "confluent:tags": ["PII"]},
]
_SCHEMA = json.dumps({"type": "record", "name": "User", "fields": _FIELDS})
_RULE = {
    "name": "encryptPII",
    "kind": "TRANSFORM",
    "mode": "WRITEREAD",
    "type": "ENCRYPT",
    "tags": ["PII"],
    "params": {"encrypt.kek.name": "kek1", "encrypt.kms.type": "local-kms"},
    "onFailure": "ERROR,NONE",
    "disabled": False,
}
_PLAIN, _CIPHER = b"\x00\x00\x00\x00\x01\x02\x08a@b.", b"\x00\x00\x00\x00\x02\x04\x08bT1="


def _lake(tmp_path: Path, **rule: object) -> Path:
    key, value = schema_pair("t-value", 2, 2, schema=_SCHEMA)
    assert value is not None
    rules = {"domainRules": [_RULE | rule]}
    tagged = key, json.dumps(json.loads(value) | {"ruleSet": rules}).encode()
    pairs = [schema_pair("t-value", 1, 1, schema=_SCHEMA), tagged]
    lake = tmp_path / "lake"
    ingested(write_registry(tmp_path / "registry", [(0, pairs)]), lake)
    add_values(lake, tmp_path / "values", _PLAIN, _CIPHER, _CIPHER)
    return lake


def test_they_are_rejected_with_their_bytes_and_named_once(tmp_path: Path) -> None:
    lake = _lake(tmp_path)
    summary = decoded(lake, "t")
    assert [columns_of(row) for row in typed_rows(lake, "t")] == [{"id": 1, "mail": "a@b."}]
    rejects = [(r["reason"], r["schema_id"], r["raw"]) for r in table_rows(lake, "value_rejects")]
    assert rejects == [("encrypted", 2, _CIPHER)] * 2
    lines = [line for line in summary.to_text().splitlines() if "encrypted" in line]
    assert lines == [
        "  rejected value encrypted: 2; nothing: a rule of the schema encrypts fields, and the"
        " bytes stay in `records` for who has the keys"
    ]
    assert "limits.fail_on_rejects: 2 rejects in t (2)" in summary.to_text()
    assert summary.exit_code is ExitCode.LOOK


@pytest.mark.parametrize("rule", [{"disabled": True}, {"mode": "READ"}, {"type": "CEL"}])
def test_a_rule_that_does_not_encrypt_changes_nothing(
    tmp_path: Path, rule: dict[str, object]
) -> None:
    lake = _lake(tmp_path, **rule)
    assert decoded(lake, "t").exit_code is ExitCode.DONE
    assert [row["mail"] for row in typed_rows(lake, "t")] == ["a@b.", "bT1=", "bT1="]
