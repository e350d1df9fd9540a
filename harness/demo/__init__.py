"""`python -m harness.demo`: once round the block."""
