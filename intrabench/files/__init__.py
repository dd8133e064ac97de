"""Files that are written whole or not at all (`atomic`), read only as far as their headers can be true (`headers`),
on one grid or not (`grid`), locked on any machine (`locks`), removed when left over (`cleanup`); which values are
labels (`label_values`) and what they are called (`label_names`), files of several pictures (`pictures`), grids that are
stated twice or not at all (`geometry`); checked JSON and TOML (`documents`).
"""
