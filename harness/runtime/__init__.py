"""What every command needs to run: kept stages, workers, provenance, folders, memory, interruption."""
