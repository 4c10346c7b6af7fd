"""Entry point of ``python -m sms_diar``, equivalent to ``sms-diar``."""

from sms_diar.cli.main import main

if __name__ == "__main__":
    main()
