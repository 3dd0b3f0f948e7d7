"""A tool that finds slow spellings by itself.

Programs that mean the same are to take the same time. Base programs are rewritten at random by rules that keep the
meaning; all results of a class are compared, and all its variants are timed in turn and
reported with their ratios to the fastest.

* `tree.py`: programs as trees; `parse.py`: from text; `spell.py`, `spell_i.py`: to text in each language.
* `classes.py`: the base programs; `rules/`: the rules; `draw.py`: variants from a seed.
* `data.py`: arrays and their layouts; `reference.py`: the value of a program, in double precision.
* `run.py`: variants as functions; `race.py`: rounds; `guard.py`: a process for each class; `report.py`: tables;
  `command.py`: the command line.
"""
