"""`python -m hub`: one hub process."""

from hub.main import main

if __name__ == "__main__":
    main()
