"""`python -m hub`: one hub process."""

import gc

from shared.extras import leave_without

gc.disable()  # modules leave no garbage, and walking them again and again is a third of a start
try:
    from hub.main import main
except ModuleNotFoundError as missing:
    leave_without(missing, "python -m hub", "hub")
gc.enable()

if __name__ == "__main__":
    main()
