"""``python -m sms_diar``: the same as ``sms-diar``."""

from sms_diar.cli.main import main

if __name__ == "__main__":
    main()
