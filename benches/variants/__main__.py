"""`cd benches && python -m variants --help`."""

from .command import main

if __name__ == "__main__":
    main()
