"""A race of real programs, written as people write them, against the libraries that people use.

* `program.py`: what a program is, and the data that it gets; `table/`: the programs; `functions.py`: what takes
  more than an expression.
* `contestants.py`: ijk and the libraries, all in one process; `race.py`: rounds, and comparison with a reference in
  double precision; `report.py`: tables; `command.py`: the command line.
"""
