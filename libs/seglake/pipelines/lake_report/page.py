"""Makes the report as one self-contained HTML page. Reads the page's parts.

No value from a lake can become a script: the template or the JSON encoder escapes values, and the
browser runs only scripts with a listed hash.
"""

import base64
import hashlib
from collections.abc import Collection
from datetime import datetime

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from seglake.errors import ExitCode
from seglake.findings.kinds import FindingKind
from seglake.findings.loss_causes import Loss
from seglake.grouping import grouped
from seglake.pipelines.lake_report.commands import (
    command_for,
    command_for_groups,
    command_to_decode,
)
from seglake.pipelines.lake_report.model import (
    LakeReport,
    Level,
    OffsetState,
    level_of,
)
from seglake.pipelines.lake_report.page_data import to_json

_SCRIPTS = ("vendor/d3-7.9.0.min.js", "vendor/plot-0.6.17.min.js", "page.js")
_STYLE = "page.css"
# Plot adds these styles to each of its figures, for the class name that page.js gives them.
_PLOT_STYLE = "plot.css"
_MOST_RUNS = 100
_MOST_NAMES = 5
_MOST_TYPED = 200
_IN_QUARANTINE = "in quarantine, not in records"
_EXITS = {
    ExitCode.DONE: "done",
    ExitCode.LOOK: "done and consistent, but a person should look",
}


def to_html(report: LakeReport) -> bytes:
    """Return the report as an HTML page in UTF-8."""
    loader = PackageLoader("seglake", "pipelines/lake_report/page")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters["number"] = _number
    environment.filters["moment"] = _moment

    def part(name: str) -> str:
        return loader.get_source(environment, name)[0]

    scripts = [part(name) for name in _SCRIPTS]
    style = part(_STYLE)
    kinds = {finding.kind for each in report.partitions for finding in each.findings}
    text = environment.get_template("page.html.jinja").render(
        report=report,
        policy=_policy(scripts, [style, part(_PLOT_STYLE).strip()]),
        scripts=[Markup(script) for script in scripts],
        style=Markup(style),
        data=Markup(to_json(report)),
        headline=report.headline,
        level=report.level,
        totals=[(state, report.count(state)) for state in OffsetState],
        findings=_findings(report),
        groups_command=command_for_groups(report),
        decode_command=command_to_decode(report),
        most_topics=_MOST_TYPED,
        lines=[(line, _advice_for(line, kinds)) for line in report.this_run.lines]
        if report.this_run
        else [],
        exits=_EXITS,
        runs=report.runs[:_MOST_RUNS],
        states=list(OffsetState),
        levels=Level,
    )
    return text.encode("utf-8", "replace")


def _policy(scripts: list[str], styles: list[str]) -> str:
    """Return the Content-Security-Policy, which allows only these scripts and styles."""
    by_kind = {"script-src": scripts, "style-src": styles}
    allowed = [f"{kind} {' '.join(map(_hash, texts))}" for kind, texts in by_kind.items()]
    nothing = [f"{kind} 'none'" for kind in ("default-src", "base-uri", "form-action")]
    return "; ".join([*nothing, *allowed])


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


# object: rows of the template hold values of several types.
def _findings(report: LakeReport) -> list[dict[str, object]]:
    """Return the kinds of findings in a report, each with its partitions, most urgent first."""
    found = grouped((one.kind, each) for each in report.partitions for one in each.findings)
    return [
        {
            "kind": kind,
            "level": level_of(kind),
            "count": len(found[kind]),
            "names": [str(each.key) for each in found[kind][:_MOST_NAMES]],
            "command": command_for(kind, report.lake, (each.key for each in found[kind])),
        }
        for kind in FindingKind
        if kind in found
    ]


def _advice_for(line: str, kinds: Collection[FindingKind]) -> str | None:
    """Return the advice for a line of a run's summary; None if the line is no finding.

    Args:
        line: the line.
        kinds: kinds of findings that the lake still has. If QUARANTINED is not among them, damage
            hides no offsets, so the advice does not mention other replicas.
    """
    label = line.partition(": ")[0]
    found = {loss.kind for loss in Loss if label == loss.verdict and f" {loss.words} in " in line}
    found |= {FindingKind.LOST_TAIL} if label == _IN_QUARANTINE else set()
    found |= {kind for kind in FindingKind if kind.label == label and label}
    found -= {FindingKind.QUARANTINED} - {*kinds}
    return found.pop().to_do if len(found) == 1 else None


def _number(value: int) -> str:
    """Return a number with thin spaces between thousands."""
    return f"{value:,}".replace(",", "\u202f")


def _moment(time: datetime) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S")
