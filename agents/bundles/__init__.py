"""Folders of models that others publish: what they are, before anything of theirs is run."""
