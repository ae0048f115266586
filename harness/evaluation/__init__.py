"""From populations to rates of rejection: evaluation sets, tests, sizes and powers; knows no paper."""
