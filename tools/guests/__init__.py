"""What is needed to try other people's agents on carlite."""
