"""Folders with Hadoop's site files."""

from pathlib import Path


def hadoop_folder(folder: Path, name: str = "core-site.xml", **properties: str) -> dict[str, str]:
    """A folder of Hadoop's, as the variable that names it."""
    entries = "".join(
        f"<property>\n<name> {key.replace('__', '.')} </name>\n<value>{value}</value></property>"
        for key, value in properties.items()
    )
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"<?xml version='1.0'?><configuration>{entries}</configuration>")
    return {"HADOOP_CONF_DIR": str(folder)}
