"""Commands of ``sms-diar``, one module for each subject."""
