"""The SBOM of the wheel, as CycloneDX in JSON."""

import hashlib
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.model.license import LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

import seglake
import seglake.pipelines.lake_report
from dependencies.licences import Package
from dependencies.pins import LOCKS, pins_of
from seglake.environment.jar_fetch import known_jars

_SCRIPTS = Path(seglake.pipelines.lake_report.__file__).parent / "page" / "vendor"
_LICENCE_OF_SCRIPTS = "ISC"


def bill_of_materials(packages: Iterable[Package]) -> str:
    """The packages with every hash that is pinned, and what no package manager knows of.

    Spark's own JARs are part of pyspark.
    """
    bom = Bom()
    bom.metadata.component = root = _component(
        PackageURL("pypi", name="seglake", version=seglake.__version__),
        licence="Apache-2.0",
        kind=ComponentType.APPLICATION,
    )
    pins = {(pin.name, pin.version): pin.hashes for lock in LOCKS for pin in pins_of(lock)}
    components, needs = dict[str, Component](), dict[str, tuple[str, ...]]()
    for package in packages:
        components[package.name] = _component(
            PackageURL("pypi", name=package.name, version=package.version),
            licence=package.licence,
            hashes=pins.get((package.name, package.version), ()),
            is_optional=package.is_optional,
        )
        needs[package.name] = package.needs
    for name, component in components.items():
        bom.components.add(component)
        bom.register_dependency(component, [components[of] for of in needs[name]])
    others = [*_scripts(), *_jars()]
    bom.components.update(others)
    bom.register_dependency(root, [*components.values(), *others])
    return JsonV1Dot6(bom).output_as_string(indent=2)


def _scripts() -> Iterator[Component]:
    """Scripts of the report's page, which the wheel has in it."""
    for path in sorted(_SCRIPTS.glob("*.min.js")):
        name, version = path.name.removesuffix(".min.js").rsplit("-", 1)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        namespace = "@observablehq" if name == "plot" else None
        package = PackageURL("npm", namespace=namespace, name=name, version=version)
        yield _component(package, licence=_LICENCE_OF_SCRIPTS, hashes=[digest])


def _jars() -> Iterator[Component]:
    """JARs that Spark needs for Delta and for S3; they are fetched when they are first needed."""
    for jar in dict.fromkeys(chain(*known_jars().values())):
        package = PackageURL("maven", namespace=jar.group, name=jar.module, version=jar.version)
        yield _component(package, hashes=[jar.digest], is_optional=True)


def _component(
    package: PackageURL,
    *,
    licence: str = "",
    hashes: Iterable[str] = (),
    is_optional: bool = False,
    kind: ComponentType = ComponentType.LIBRARY,
) -> Component:
    return Component(
        name=package.name,
        group=package.namespace,
        version=package.version,
        type=kind,
        bom_ref=package.to_string(),
        purl=package,
        licenses=[LicenseExpression(licence)] if licence else [],
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=digest) for digest in hashes],
        scope=ComponentScope.OPTIONAL if is_optional else ComponentScope.REQUIRED,
    )
