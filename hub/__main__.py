"""`python -m hub`: one hub process."""

import sys

from shared.extras import EXIT_NOT_INSTALLED, what_to_install

try:
    from hub.main import main
except ModuleNotFoundError as missing:
    sys.stderr.write(f"error: {what_to_install(missing, 'python -m hub', 'hub')}\n")
    sys.exit(EXIT_NOT_INSTALLED)

if __name__ == "__main__":
    main()
