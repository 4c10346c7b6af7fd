"""Speaker identity across recordings: voice prints, enrolment, linking and names.

`LINKING.md` explains the method.
"""
