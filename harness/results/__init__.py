"""What a finished run says: verdicts, ranking, scores of truth rules."""
