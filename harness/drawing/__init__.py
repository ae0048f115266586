"""What every figure shares: how pages are laid out, how curves and panels look, how files are saved."""
