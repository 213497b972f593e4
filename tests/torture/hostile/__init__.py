"""Inputs of an enemy: bytes that know the format they break, and what must hold for each of them.

Each module of a kind of input has `draw(random)`, which makes one, and `check(content)`, which
raises where seglake did not do what it promises. `kinds` lists them.
"""
