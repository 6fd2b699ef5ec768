"""`python -m hub`: one hub process."""

from shared.extras import leave_without

try:
    from hub.main import main
except ModuleNotFoundError as missing:
    leave_without(missing, "python -m hub", "hub")

if __name__ == "__main__":
    main()
