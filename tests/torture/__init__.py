"""The campaign that tries to make seglake lose something: `make torture`.

Each part is a module with a function `campaign(seconds, seed)` that yields a `Row` for each of
its cases when it is done; the default tests run a few seconds of each.
"""
