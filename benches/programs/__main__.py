"""`cd benches && python -m programs --help`."""

from .command import main

if __name__ == "__main__":
    main()
