"""CARLA's recorder and replayer: its binary log, written, described and played again."""
