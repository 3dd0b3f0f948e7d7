"""A race of ijk and its peers: every case in every one of them, round by round.

* `case.py`: the definition of a case; `cases/`: the table of cases; `programs/`: those in Einsum Tuple.
* `worker.py`: a peer, in a process of its own; `runners.py`: control of that process and of `ijk bench --paced`.
* `race.py`: rounds and comparison of results; `report.py`: tables; `command.py`: the command line.
"""
