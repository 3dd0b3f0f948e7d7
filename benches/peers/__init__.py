"""A race of ijk and its peers: every case in every one of them, round by round.

* `case.py`: what a case is; `cases/`: the table of them; `programs/`: those in Einsum Tuple.
* `worker.py`: a peer, in a process of its own; `runners.py`: that process and `ijk bench --paced` seen from here.
* `race.py`: rounds and comparison of results; `report.py`: tables; `command.py`: the command line.
"""
