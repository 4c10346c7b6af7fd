"""The command ``sms-diar``: parse, call, print."""
