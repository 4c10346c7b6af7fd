"""Who spoke when in corpora of conversations, in the layouts of the field."""
